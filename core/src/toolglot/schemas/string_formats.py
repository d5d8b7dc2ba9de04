"""The formats of strings, as patterns that all validators agree on."""

from __future__ import annotations

_MONTH_DAY = (
    "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
)
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = f"(?:{_YEAR}-(?:{_MONTH_DAY})|{_LEAP_YEAR}-02-29)"
_HOUR = "(?:[01][0-9]|2[0-3])"
_TIME = rf"{_HOUR}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,9}})?(?:Z|[+-]{_HOUR}:[0-5][0-9])"
_N = "[0-9]{1,6}"
_CLOCK = f"T(?:{_N}H(?:{_N}M(?:{_N}S)?)?|{_N}M(?:{_N}S)?|{_N}S)"
_DURATION = f"P(?:{_N}W|(?:{_N}Y(?:{_N}M(?:{_N}D)?)?|{_N}M(?:{_N}D)?|{_N}D)(?:{_CLOCK})?|{_CLOCK})"
_FIRST_LABEL = "[A-Za-z0-9]{1,24}(?:-[A-Za-z0-9]{1,6}){0,3}"
_LABEL = "[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,10})?"
_HOSTNAME = rf"{_FIRST_LABEL}(?:\.{_LABEL}){{0,3}}"
"""No label is too long, nor the name as a whole."""
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_ADDRESS = rf"{_ATOM}{{1,30}}(?:\.{_ATOM}{{1,15}}){{0,2}}@{_HOSTNAME}"
_BYTE = "(?:[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
_HEX = "[0-9A-Fa-f]"
_GROUP = f"{_HEX}{{1,4}}"
_IPV6 = "|".join(
    [f"(?:{_GROUP}:){{7}}{_GROUP}", f"(?:{_GROUP}:){{1,7}}:", f"::(?:{_GROUP}(?::{_GROUP}){{0,6}})?"]
    + [f"(?:{_GROUP}:){{{left}}}(?::{_GROUP}){{1,{7 - left}}}" for left in range(1, 7)]
)
_UNIT = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_AFTER = rf"(?:\?(?:{_UNIT}|[/?])*)?(?:#(?:{_UNIT}|[/?])*)?"
_AUTHORITY = "//[A-Za-z0-9._~-]+(?::[0-9]{1,5})?"
_SEGMENTS = f"(?:/{_UNIT}*)*"
_ROOTED = f"/(?:{_UNIT}+{_SEGMENTS})?"
_SCHEME = "[A-Za-z][A-Za-z0-9+.-]*"
_URI = f"{_SCHEME}:(?:{_AUTHORITY}{_SEGMENTS}|///{_UNIT}+{_SEGMENTS}|{_ROOTED}|{_UNIT}+{_SEGMENTS}){_AFTER}"
_FIRST_UNIT = "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})"
_RELATIVE = f"(?:{_AUTHORITY}{_SEGMENTS}|{_ROOTED}|{_FIRST_UNIT}+{_SEGMENTS})?{_AFTER}"
_POINTER = "(?:/(?:[^~/]|~[01])*)*"

FORMATS: dict[str, tuple[str, bool]] = {
    "date": (_DATE, False),
    "time": (_TIME, True),
    "date-time": (f"{_DATE}T{_TIME}", True),
    "duration": (_DURATION, True),
    "hostname": (_HOSTNAME, True),
    "idn-hostname": (_HOSTNAME.replace("A-Z", ""), True),
    "email": (_ADDRESS, True),
    "idn-email": (_ADDRESS, True),
    "ipv4": (rf"(?:{_BYTE}\.){{3}}{_BYTE}", False),
    "ipv6": (_IPV6, True),
    "uuid": ("-".join(f"{_HEX}{{{count}}}" for count in (8, 4, 4, 4, 12)), False),
    "uri": (_URI, True),
    "iri": (_URI, True),
    "uri-reference": (f"{_URI}|{_RELATIVE}", True),
    "iri-reference": (f"{_URI}|{_RELATIVE}", True),
    "uri-template": (f"(?:{_UNIT}|[/?#]|\\{{[A-Za-z0-9_]{{1,40}}\\}})*", True),
    "json-pointer": (_POINTER, False),
    "relative-json-pointer": (f"(?:0|[1-9]{{1,9}})(?:#|{_POINTER})", True),
}
"""The pattern of every format, and whether it leaves out strings that are of the format."""
