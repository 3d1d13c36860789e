"""Libraries that take long to load: each name loads on first use, so that whoever needs none of them is quick.

Of ``scipy.special`` and of isotonic regression only the compiled part loads: the packages around them take ten times as
long.

>>> from barrow import heavy
>>> float(heavy.special.expit(0.0))
0.5
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
        load_pem_private_key,
    )
    from flint import arb, ctx, fmpq, fmpq_mat, fmpz

    from barrow._compiled import (
        cKDTree,
        connected_components,
        diagonal,
        dijkstra,
        linalg,
        minimum_spanning_tree,
        network_simplex,
        optimize,
        pava,
        sparse,
        spatial,
        special,
        stats,
        times,
    )
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "concurrent.futures": "Future ThreadPoolExecutor",
            "cryptography.exceptions": "InvalidSignature UnsupportedAlgorithm",
            "cryptography.hazmat.primitives.asymmetric.ed25519": "Ed25519PrivateKey Ed25519PublicKey",
            "cryptography.hazmat.primitives.serialization": "Encoding NoEncryption PrivateFormat PublicFormat "
            "load_pem_private_key",
            "flint": "arb ctx fmpq fmpq_mat fmpz",
            "barrow._compiled": "cKDTree connected_components diagonal dijkstra linalg minimum_spanning_tree "
            "network_simplex optimize pava sparse spatial special stats times",
        },
    )
