"""The handover: what is predicted, migrated, released from Talos and proven."""
