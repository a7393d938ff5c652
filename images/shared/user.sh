#!/bin/sh
# user.sh: the user that every image runs as, and the one folder that it may write beside /tmp.
set -eu
echo 'orchard:x:10001:' >>/etc/group
echo 'orchard:x:10001:10001:Orchard:/var/lib/orchard:/usr/sbin/nologin' >>/etc/passwd
mkdir -p /var/lib/orchard
chown 10001:10001 /var/lib/orchard
chmod 0770 /var/lib/orchard
