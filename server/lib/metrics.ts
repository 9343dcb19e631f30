import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export type Metrics = {
  readonly registry: Registry;
  readonly httpRequestSeconds: Histogram<"method" | "route" | "status" | "reason">;
  readonly leadBatchRows: Histogram;
  readonly leadsCreated: Counter;
  readonly leadsWaiting: Gauge;
  readonly chatWebhooks: Counter<"outcome">;
  readonly eventStreams: Gauge;
  readonly eventReads: Counter;
  readonly reads: Counter<"database">;
  readonly replicaUsable: Gauge;
  readonly replicaStalenessSeconds: Gauge;
  readonly nodesConnected: Gauge<"node">;
  readonly callsLive: Gauge<"node">;
  readonly callsWaiting: Gauge<"node">;
  readonly callsWaitedSeconds: Gauge<"node">;
  readonly databaseUp: Gauge;
  readonly installation: InstallationGauges;
};

/** Metrics of the whole installation, which every process reports alike. */
type InstallationGauges = {
  readonly unconfirmed: Gauge;
  readonly backlogSeconds: Gauge<"work">;
  readonly endpointsFailing: Gauge;
  readonly holds: Gauge<"channel" | "reason">;
  readonly leasesHeld: Gauge<"role">;
  readonly leaseTakeovers: Counter<"role">;
};

/** Opens the process's Prometheus metrics; one registry per server, so that tests can run several. */
export function openMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    httpRequestSeconds: new Histogram({
      name: "trunkline_http_request_duration_seconds",
      help: "Time from a request's headers to the end of its response; reason: why a 5xx does not mean that the service failed",
      labelNames: ["method", "route", "status", "reason"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    leadBatchRows: new Histogram({
      name: "trunkline_lead_batch_rows",
      help: "Leads written per call of create_leads",
      buckets: [1, 2, 4, 8, 16, 32, 64, 128],
      registers,
    }),
    leadsCreated: new Counter({
      name: "trunkline_leads_created_total",
      help: "Leads that this process created: by requests, imports and calls",
      registers,
    }),
    leadsWaiting: new Gauge({
      name: "trunkline_leads_waiting",
      help: "Leads waiting for a batch",
      registers,
    }),
    chatWebhooks: new Counter({
      name: "trunkline_chat_webhooks_total",
      help: "Changes in chat providers' webhooks: stored, stored with unread content, for an unknown number, or ignored",
      labelNames: ["outcome"],
      registers,
    }),
    eventStreams: new Gauge({
      name: "trunkline_event_streams",
      help: "Open live event streams",
      registers,
    }),
    eventReads: new Counter({
      name: "trunkline_event_reads_total",
      help: "Pages of events read for live event streams",
      registers,
    }),
    ...readMetrics(registry),
    ...nodeGauges(registry),
    databaseUp: new Gauge({
      name: "trunkline_database_up",
      help: "Whether the database answered: 1 or 0",
      registers,
    }),
    installation: installationGauges(registry),
  };
}

/** Read from the database on each scrape; backlogs have each kind of work from the start. */
function installationGauges(registry: Registry): InstallationGauges {
  const registers = [registry];
  return {
    unconfirmed: new Gauge({
      name: "trunkline_database_unconfirmed",
      help: "Whether the database was restored or failed over, and workers wait for `trunkline restored`: 1 or 0",
      registers,
    }),
    backlogSeconds: new Gauge({
      name: "trunkline_backlog_seconds",
      help: "Seconds that the oldest due work has waited for a worker, by kind: jobs, chat_webhooks, events, callbacks, chat_campaigns or retention",
      labelNames: ["work"],
      registers,
    }),
    endpointsFailing: new Gauge({
      name: "trunkline_callback_endpoints_failing",
      help: "Callback endpoints whose last request failed, or that were disabled because of failures",
      registers,
    }),
    holds: new Gauge({
      name: "trunkline_holds",
      help: "Holds that stop messages (channel chat) or calls (voice), by reason",
      labelNames: ["channel", "reason"],
      registers,
    }),
    leasesHeld: new Gauge({
      name: "trunkline_leases_held",
      help: "Leases that a worker holds, by role",
      labelNames: ["role"],
      registers,
    }),
    leaseTakeovers: new Counter({
      name: "trunkline_lease_takeovers_total",
      help: "Leases acquired that their holder had not released, since this process was first scraped, by role",
      labelNames: ["role"],
      registers,
    }),
  };
}

type OfReads = "reads" | "replicaUsable" | "replicaStalenessSeconds";

/** Of DATABASE_READ_URL; without it, the gauges stay 0. */
function readMetrics(registry: Registry): Pick<Metrics, OfReads> {
  const registers = [registry];
  return {
    reads: new Counter({
      name: "trunkline_replica_reads_total",
      help: "Requests that may read from the replica, by the database that they read from: replica or primary",
      labelNames: ["database"],
      registers,
    }),
    replicaUsable: new Gauge({
      name: "trunkline_replica_usable",
      help: "Whether the replica answers and is within the bound of its staleness: 1 or 0",
      registers,
    }),
    replicaStalenessSeconds: new Gauge({
      name: "trunkline_replica_staleness_seconds",
      help: "How old the replica's state may be; +Inf while it is unknown",
      registers,
    }),
  };
}

type OfNodes = "nodesConnected" | "callsLive" | "callsWaiting" | "callsWaitedSeconds";

/** Gauges of the whole installation, read on each scrape. */
function nodeGauges(registry: Registry): Pick<Metrics, OfNodes> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ["node"], registers: [registry] });
  return {
    nodesConnected: gauge(
      "trunkline_voice_node_connected",
      "Whether the active voice node's leader has a connection to its switch: 1 or 0",
    ),
    callsLive: gauge("trunkline_calls_live", "Live calls, by voice node"),
    callsWaiting: gauge(
      "trunkline_calls_waiting",
      "Due calls that are not placed yet, by voice node",
    ),
    callsWaitedSeconds: gauge(
      "trunkline_calls_waiting_seconds",
      "Seconds that the oldest due call has been waiting, by voice node",
    ),
  };
}
