#!/bin/sh
# hdfs namenode | datanode | dfs … | dfsadmin … | fsck … | version
# The configuration is read from HADOOP_CONF_DIR. A NameNode formats its folder only where that is
# empty; HDFS_NAMES says which folder that is.
set -eu
java() {
    # shellcheck disable=SC2086 # options, not one word
    exec "$JAVA_HOME/bin/java" -Dhadoop.log.dir=/tmp -Djava.io.tmpdir=/tmp \
        -Djava.net.preferIPv4Stack=true $HADOOP_OPTS \
        -cp "$HADOOP_CONF_DIR:/opt/hadoop/log:/opt/hadoop/jars/*" "$@"
}
server=org.apache.hadoop.hdfs.server
command=${1:-version}
if [ $# -gt 0 ]; then shift; fi
case $command in
namenode)
    names=${HDFS_NAMES:-/var/lib/orchard/names}
    if [ ! -e "$names/current/VERSION" ]; then
        (java $server.namenode.NameNode -format -nonInteractive)
    fi
    java $server.namenode.NameNode "$@"
    ;;
datanode) java $server.datanode.DataNode "$@" ;;
dfs) java org.apache.hadoop.fs.FsShell "$@" ;;
dfsadmin) java org.apache.hadoop.hdfs.tools.DFSAdmin "$@" ;;
fsck) java org.apache.hadoop.hdfs.tools.DFSck "$@" ;;
version | --version) java org.apache.hadoop.util.VersionInfo ;;
*)
    echo "usage: hdfs namenode|datanode|dfs|dfsadmin|fsck|version …" >&2
    exit 64
    ;;
esac
