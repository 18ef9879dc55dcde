"""What components really deploy: their objects, made by the kustomize and helm that the engines use themselves."""
