"""Where a lab's clusters get their content: a Git server, an OCI registry and Helm repositories, on one address.

One process, ``python -m firstlight.lab.sources``, takes strangers' requests over HTTP and its owner's orders over a
unix socket (``client`` speaks to it). Everything it keeps is below one directory.
"""
