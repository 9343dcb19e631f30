import { serverName, type ClusterPaths } from "./cluster-paths.ts";

/**
 * Returns the settings of every start as `name=value`, for the command line, so that a new release also changes
 * them for old clusters. fsync, full_page_writes and synchronous_commit keep PostgreSQL's default, on.
 */
export function serverSettings(
  paths: ClusterPaths,
  port: number,
  max_connections: number,
): string[] {
  const settings: Record<string, string | number> = {
    // Identifies the server and its children, here and in `ps`.
    cluster_name: serverName(paths),

    // Loopback only, with a password. No socket file: its path may be too long or inaccessible.
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections,

    // Pages use memory once they are touched, so an idle server stays small.
    shared_buffers: "128MB",
    // Parallel and JIT-compiled plans help long reports; our statements are short and CPUs are few.
    max_parallel_workers_per_gather: 0,
    jit: "off",

    // Bounds the WAL that is replayed after a crash: seconds, not minutes, on a good disk.
    max_wal_size: "512MB",

    // The program logs failed statements itself, without their text, which contains personal data. This log
    // only describes the server's own state.
    log_min_messages: "log",
    log_min_error_statement: "panic",
    log_checkpoints: "off",
    log_line_prefix: "%m [%p] ",
    log_timezone: "UTC",
    timezone: "UTC",
  };
  return Object.entries(settings).map(([name, value]) => `${name}=${value}`);
}
