"""Passwords: random, and hashed as Mosquitto 2.0 and later reads them.

The same logins make the same file, so that one that is there already need not be written again. The
salt follows from the password, which is random and long itself.
"""

import hashlib
import secrets
from base64 import b64encode
from collections.abc import Mapping

ITERATIONS = 101
"""Mosquitto's own number: the passwords are random and long, so that more would protect nothing."""
SALT_BYTES = 12
PASSWORD_BYTES = 24


def new_password() -> str:
    """One that nobody guesses and every option file can hold."""
    return secrets.token_urlsafe(PASSWORD_BYTES)


def password_line(user: str, password: str, salt: bytes | None = None) -> str:
    """`user:$7$iterations$salt$hash`, PBKDF2 with SHA-512."""
    if salt is None:
        salt = hashlib.blake2b(f"{user} {password}".encode(), digest_size=SALT_BYTES).digest()
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"{user}:$7${ITERATIONS}${b64encode(salt).decode()}${b64encode(digest).decode()}"


def password_file(logins: Mapping[str, str]) -> str:
    """The text of Mosquitto's `password_file` for these users and passwords."""
    return "".join(f"{password_line(user, password)}\n" for user, password in logins.items())
