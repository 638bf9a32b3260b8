update tenax.fake_clock set at = greatest(at, $1::timestamptz) returning at
