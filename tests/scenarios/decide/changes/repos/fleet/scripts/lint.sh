#!/bin/sh
set -eu
yamllint kubernetes
