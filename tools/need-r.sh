#!/bin/sh
# Install R and what the tests use of it through apt, or say in one message what is missing.
set -eu

packages="r-base-core r-base-dev r-cran-mass r-cran-rstan r-cran-bh r-cran-rcppeigen r-cran-rcppparallel r-cran-coda r-cran-reticulate r-cran-survey r-cran-rstanarm r-cran-testthat r-cran-knitr r-cran-markdown"

missing=""
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then
        apt="env DEBIAN_FRONTEND=noninteractive apt-get"
    elif sudo -n true 2>/dev/null; then
        apt="sudo -n env DEBIAN_FRONTEND=noninteractive apt-get"
    else
        apt=""
    fi
    if [ -n "$apt" ]; then
        echo "Installing$missing" >&2
        $apt update -qq
        # shellcheck disable=SC2086
        $apt install -y -qq --no-install-recommends $missing >/dev/null
        exit 0
    fi
fi

cat >&2 <<MESSAGE
The tests compare with R, and this is missing:$missing
Install it (on Debian or Ubuntu: sudo apt-get install$missing), then run make test again,
or run the tests that need no R: make test R=no
MESSAGE
exit 1
