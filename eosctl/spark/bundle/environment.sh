#!/bin/sh
# Makes environment.tar.gz: the native libraries that eosctl needs on the executors, for --archives.
# Run it on a machine like the executors: same system, same Python version at the same path (venv-pack links to it;
# with conda-pack the archive carries its own Python). Spark supplies pyspark.
set -eu
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
"${PYTHON:-python3}" -m venv "$build/environment"
"$build/environment/bin/pip" install --quiet --requirement requirements.txt venv-pack setuptools
# A node that unpacks it sets the mode of every file: without Hadoop's native library one process each.
"$build/environment/bin/venv-pack" --quiet --force --prefix "$build/environment" --output environment.tar.gz \
  --exclude '*/tests/*' --exclude '*/include/*' --exclude '*/pkg_resources/*' \
  --exclude '*/site-packages/pip/*' --exclude '*/site-packages/setuptools/*' \
  --exclude '*/_distutils_hack/*' --exclude '*/distutils-precedence.pth'
