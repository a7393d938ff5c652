#!/bin/sh
# jars.sh: fetches the jars that pom.xml names and refuses any other content than SHA256SUMS says.
# Read from /run/secrets, where they are not empty: machine (proxies), maven (settings.xml of the
# machine), java-authorities (key store of the authorities that the machine trusts).
set -eu
if [ -s /run/secrets/machine ]; then set -a; . /run/secrets/machine; set +a; fi
set -- -B -q -f /build/pom.xml
if [ -s /run/secrets/maven ]; then set -- "$@" -s /run/secrets/maven; fi
if [ -s /run/secrets/java-authorities ]; then
    export MAVEN_OPTS="-Djavax.net.ssl.trustStore=/run/secrets/java-authorities -Djavax.net.ssl.trustStorePassword=changeit"
fi
mvn "$@" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=/opt/hadoop/jars
cd /opt/hadoop/jars
sha256sum --quiet -c /build/SHA256SUMS
if [ "$(ls | wc -l)" -ne "$(wc -l </build/SHA256SUMS)" ]; then
    echo 'There are other jars than SHA256SUMS lists:' >&2
    ls >&2
    exit 64
fi
