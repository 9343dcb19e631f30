// The files that operators install must match the service: its metrics, its settings, its programs.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { startApi, type TestApi } from "./support/api.ts";
import { makeAccount } from "./support/account-factory.ts";
import { makeChatNumber } from "./support/chat-factory.ts";
import { messageHook, openTestWhatsapp } from "./support/chat-webhooks.ts";
import { eventually } from "./support/eventually.ts";
import { sandboxStub } from "./support/sandbox-stub.ts";
import { makeSandboxTrunk } from "./support/telephony-factory.ts";
import { freezeAccount } from "../server/accounts/accounts/freeze-account.ts";
import { hold } from "../server/chat/holds/holds.ts";
import { acquireLease } from "../server/engine/leases.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

type Rule = { alert: string; expr: string; annotations: { summary: string; runbook_url: string } };
const alerts = parse(read("deploy/prometheus/alerts.yml")) as { groups: { rules: Rule[] }[] };
const rules = alerts.groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read("deploy/grafana/trunkline.json")) as {
  panels: { title: string; targets: { expr: string; legendFormat: string }[] }[];
};
const targets = dashboard.panels.flatMap((panel) => panel.targets);

let api: TestApi;
/** The labels of each exposed series. */
const exposed = new Map<string, Set<string>>();
let text: string;
const frozen_path = "/api/v1/crm/workspaces";

before(async () => {
  api = await startApi({ chatDrivers: { sandbox: sandboxStub, whatsapp: openTestWhatsapp() } });
  const account = await makeAccount(api.app);
  const { account_id } = account;
  const number = await makeChatNumber(api.app, account);
  await makeSandboxTrunk(api.app, account);
  const held = { account_id, scope: "number", subject_id: number.id, reason: "auth" } as const;
  await api.app.db.query
    .transaction()
    .execute((tx) => hold(tx, { ...held, detail: null }, new Date()));
  const lease = await acquireLease(api.app, account_id, "chat_sender:1");
  assert.ok(lease);
  const reply = { id: "wamid.1", from: "919812345678", text: "Hello" };
  await api.app.webhookReceiver.take("whatsapp", messageHook(number, [reply]));
  await api.send("GET", "/health/live");
  await writeFrozen();
  await eventually(async () => {
    text = (await api.send("GET", "/metrics")).text;
    return text.includes('trunkline_leases_held{role="chat_sender"} 1');
  });
  await lease.release();
  for (const line of text.split("\n").filter((one) => one !== "" && !one.startsWith("#"))) {
    const [, name, labels = ""] = /^(\w+)(?:\{(.*)\})?/.exec(line)!;
    const known = exposed.get(name!) ?? new Set();
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!);
    exposed.set(name!, known);
  }
});
after(() => api.close());

/** Sends a write of a frozen account, which is refused. */
async function writeFrozen(): Promise<void> {
  const { account_id, token } = await makeAccount(api.app);
  const actor = { account_id, user_id: null, token_id: null, request_id: "req_test" };
  await api.app.db.query
    .transaction()
    .execute(async (tx) => void (await freezeAccount(tx, actor, new Date())));
  const refused = await api.send("POST", frozen_path, { token, json: { name: "Sales" } });
  assert.equal(refused.status, 503);
}

/** Added by Prometheus to each series. */
const labels_of_targets = new Set(["job", "instance"]);
/** Returns the metrics of an expression, each with the labels that the expression uses. */
function metricsOf(expr: string): Map<string, Set<string>> {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(/,\s*/),
  );
  const bare = expr.replaceAll(/\bby \([^)]*\)/g, "").replaceAll(/\[[^\]]*\]/g, "");
  const found = new Map<string, Set<string>>();
  // Every name of a metric has an underscore; functions precede a parenthesis.
  for (const [, name, , matchers = ""] of bare.matchAll(/\b([a-z]+_\w+)\b(?!\()(\{([^}]*)\})?/g)) {
    const matched = [...matchers.matchAll(/(\w+)\s*(?:=~|=|!=|!~)/g)].map(([, label]) => label!);
    found.set(name!, new Set([...(found.get(name!) ?? []), ...matched, ...grouped]));
  }
  return found;
}

for (const [what, exprs] of [
  ["alert", rules.map(({ alert, expr }) => [alert, expr] as const)],
  ["panel", targets.map(({ expr, legendFormat }) => [legendFormat, expr] as const)],
] as const) {
  test(`every ${what} uses metrics and labels that the service exposes`, () => {
    assert.ok(exprs.length > 10);
    for (const [name, expr] of exprs) {
      const metrics = metricsOf(expr);
      // Prometheus's own.
      if (expr.startsWith("up{")) continue;
      assert.ok(metrics.size > 0, `${name}: ${expr}`);
      for (const [metric, labels] of metrics) {
        const known = exposed.get(metric);
        assert.ok(known, `${name}: no metric ${metric}`);
        for (const label of labels)
          assert.ok(
            known.has(label) || labels_of_targets.has(label),
            `${name}: ${metric} has no label ${label}`,
          );
      }
    }
  });
}

test("refused writes of frozen accounts do not count in the share of failed requests", () => {
  const counted = text.match(/^trunkline_http_request_duration_seconds_count.*status="503".*$/gm);
  assert.deepEqual(counted, [
    `trunkline_http_request_duration_seconds_count{method="POST",route="${frozen_path}",status="503",reason="account_frozen"} 1`,
  ]);
  const exprs = [...rules, ...targets].map(({ expr }) => expr);
  const shares = exprs.filter((expr) => expr.includes('status=~"5.."'));
  assert.equal(shares.length, 2);
  for (const expr of shares) assert.match(expr, /\{status=~"5\.\.",reason!="account_frozen"\}/);
});

test("every text of an alert or panel names labels of its expression", () => {
  const texts = [
    ...rules.map(({ annotations, expr }) => [annotations.summary, expr] as const),
    ...targets.map(({ legendFormat, expr }) => [legendFormat, expr] as const),
  ];
  for (const [line, expr] of texts) {
    const named = [...line.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(
      ([, label]) => label!,
    );
    for (const label of named)
      assert.ok(expr.includes(label) || labels_of_targets.has(label), `${line}: ${expr}`);
  }
});

test("every alert links to the paragraph of the guide that says what to do", () => {
  for (const { alert, annotations } of rules) {
    const [page, anchor] = annotations.runbook_url.split("#");
    const headings = [...read(page!).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
    assert.ok(headings.includes(anchor!), `${alert}: ${annotations.runbook_url}`);
  }
});

test("the units and the image start a program of the repository, with settings that exist", () => {
  const documented = read(".env.example");
  const outside = new Set(["NODE_ENV", "TMPDIR"]);
  for (const [path, start, settings] of [
    ["deploy/systemd/trunkline-api.service", /^ExecStart=(.+)$/m, /^Environment=(.+)$/gm],
    ["deploy/systemd/trunkline-worker@.service", /^ExecStart=(.+)$/m, /^Environment=(.+)$/gm],
    ["deploy/Containerfile", /^CMD \["(.+)"\]$/m, /^ENV (.+)$/gm],
  ] as const) {
    const content = read(path);
    const [program, main] = start.exec(content)![1]!.split(/ |", "/);
    // A build contains what the sources are named for.
    const source = main!.replace(/^dist\/(.+)\.js$/, "$1.ts");
    for (const file of [program!.replace("/opt/trunkline/", ""), source])
      assert.ok(existsSync(join(root, file)), `${path}: ${file}`);
    const names = [...content.matchAll(settings)].flatMap(([, pairs]) =>
      pairs!.split(" ").map((pair) => pair.split("=")[0]!),
    );
    assert.ok(names.includes("DATA_DIR"), path);
    for (const name of names)
      assert.ok(outside.has(name) || documented.includes(`# ${name}=`), `${path}: ${name}`);
  }
});

test("the guide's command line of systemd has the folders and settings of the units", () => {
  const [command] = /^systemd-run (?:.+\\\n)*.+$/m.exec(read("docs/guides/operation.md"))!;
  for (const unit of ["trunkline-api", "trunkline-worker@"]) {
    const content = read(`deploy/systemd/${unit}.service`);
    const folders = [...content.matchAll(/^Environment=(.+)$/gm)].flatMap(([, pairs]) =>
      pairs!.split(" ").filter((pair) => pair.includes("=/")),
    );
    assert.ok(folders.length > 1, unit);
    for (const folder of folders) assert.ok(command.includes(` -E ${folder} `), folder);
    const [file] = /^EnvironmentFile=.+$/m.exec(content)!;
    assert.ok(command.includes(` -p ${file} `), file);
  }
});
