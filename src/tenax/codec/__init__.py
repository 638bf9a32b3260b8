"""Turns arguments and results of Python functions into JSON, and rebuilds them from their annotations. It is pure."""

from tenax.codec.calls import CallSignature, bind_call, encode_call, result_annotation, signature_of
from tenax.codec.decode import decode
from tenax.codec.encode import encode

__all__ = [
    "CallSignature",
    "bind_call",
    "decode",
    "encode",
    "encode_call",
    "result_annotation",
    "signature_of",
]
