"""Prints the report of a station. Busy at the first attempt, as stations are."""

import json
import os
import sys

MEASURED = {"north": 4.0, "south": 21.5}

params = json.load(sys.stdin)
if os.environ["TENAX_ATTEMPT"] == "1":
    sys.exit("the station is busy")
celsius = MEASURED[params["station"]]
value = celsius if params["unit"] == "C" else celsius * 9 / 5 + 32
print(json.dumps({"station": params["station"], "temperature": value, "unit": params["unit"]}))
