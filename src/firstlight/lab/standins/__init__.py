"""Stand-ins for what a foundation is built on and a lab cannot have: 1Password's command line and its Connect server.

They are contracts, not 1Password: what they say was recorded from its documentation and from what users were shown
(``tests/unit/lab/standins`` has every sentence with where it comes from). One file declares what is in the
vaults; ``op`` and the server read it. Nothing is encrypted, synchronised or sent anywhere.
"""
