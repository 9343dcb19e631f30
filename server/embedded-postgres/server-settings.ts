import { serverName, type Place } from "./place.ts";

/**
 * The settings of every start, as `name=value`. They are given on the command line, so a new
 * release changes them for old clusters too. Not named here, so at PostgreSQL's default of "on":
 * fsync, full_page_writes and synchronous_commit.
 */
export function serverSettings(place: Place, port: number, max_connections: number): string[] {
  const settings: Record<string, string | number> = {
    // How a server and its children are recognised, here and by whoever reads `ps`.
    cluster_name: serverName(place),

    // Loopback only, behind a password. No socket file: its path may be too long or out of reach.
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections,

    // Pages count once they are touched, so an idle server stays small.
    shared_buffers: "128MB",
    // Parallel plans and compiled ones pay for reports; our statements are short and the CPUs few.
    max_parallel_workers_per_gather: 0,
    jit: "off",

    // After a crash at most about this much log is replayed: seconds, not minutes, on a good disk.
    max_wal_size: "512MB",

    // Failed statements are reported to the program, which knows what may be written down; their
    // texts hold personal data. What stays in this log is the server's own state.
    log_min_messages: "log",
    log_min_error_statement: "panic",
    log_checkpoints: "off",
    log_line_prefix: "%m [%p] ",
    log_timezone: "UTC",
    timezone: "UTC",
  };
  return Object.entries(settings).map(([name, value]) => `${name}=${value}`);
}
