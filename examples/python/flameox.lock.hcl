# Written by `flameox lock`. Keep it under version control.

lock "python" "requirements.lock.txt" {
  sha256 = "73fafeeff4195bd1735f3109220856150e08148254bbd8afeb7b4a2c561101d6"
  inputs = "a3ef9e4b1bc2af8ba81a53a2dee2729c05b27a252084f0626ba5ed4a3ebb2922"
  tool   = "uv"
}
