"""Machines as drafts: what goes into their configs, from firstlight.yaml, talconfig.yaml or plain Talos files.

``drafting.drafts`` is the way in. Nothing is generated and no secret is read here: that happens at the last moment.
"""
