import assert from "node:assert/strict";
import { test } from "node:test";
import { readWebhook } from "./read-webhook.ts";

const metadata = { display_phone_number: "15550783881", phone_number_id: "106540352242922" };

/** Reads one change of a webhook. */
function read(field: string, value: object) {
  return readWebhook({
    object: "whatsapp_business_account",
    entry: [{ id: "102290129340398", time: 1_700_000_000, changes: [{ field, value }] }],
  }).flatMap(({ events }) => events);
}

function readMessage(message: object) {
  const common = { from: "16505551234", id: "wamid.in", timestamp: "1749416383" };
  return read("messages", { metadata, messages: [{ ...common, ...message }] })[0];
}

test("separates the statuses and messages of several numbers", () => {
  const status = { id: "wamid.1", status: "sent", timestamp: "1749416383", recipient_id: "1650" };
  const change = (phone_number_id: string) => ({
    field: "messages",
    value: { metadata: { ...metadata, phone_number_id }, statuses: [status] },
  });
  const batches = readWebhook({
    entry: [
      { id: "1", changes: [change("10"), change("11")] },
      { id: "2", changes: [change("20"), { field: "messages", value: { metadata } }] },
    ],
  });
  assert.deepEqual(
    batches.map(({ business_account_id, phone_number_id, events }) => [
      business_account_id,
      phone_number_id,
      events.length,
    ]),
    [
      ["1", "10", 1],
      ["1", "11", 1],
      ["2", "20", 1],
    ],
  );
});

test("reads a failed status with its code and our message ID", () => {
  const status = {
    id: "wamid.1",
    status: "failed",
    timestamp: "1749416383",
    recipient_id: "16505551234",
    biz_opaque_callback_data: "ours",
    errors: [{ code: 131_049, title: "x", message: "x", error_data: { details: "x" } }],
  };
  assert.deepEqual(read("messages", { metadata, statuses: [status] }), [
    {
      kind: "status",
      provider_message_id: "wamid.1",
      message_id: "ours",
      status: "failed",
      at: new Date("2025-06-08T20:59:43Z"),
      code: 131_049,
      recipient: { from: "16505551234", bsuid: null },
    },
  ]);
});

test("reports statuses of an unknown kind, without an ID or without a time as unread", () => {
  const good = { id: "wamid.1", status: "read", timestamp: "1749416383" };
  const statuses = [
    { ...good, status: "played" },
    { ...good, status: "captured" },
    { ...good, id: undefined },
    { ...good, timestamp: "soon" },
    { ...good, timestamp: "99999999999999999999" },
    null,
    good,
  ];
  const events = read("messages", { metadata, statuses });
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ["unread", "unread", "unread", "unread", "status", "unread"],
  );
  const status = events[4];
  assert.ok(status?.kind === "status");
  assert.equal(status.message_id, null);
});

test("reads replies of every type", () => {
  const common = {
    kind: "reply",
    provider_message_id: "wamid.in",
    from: "16505551234",
    bsuid: null,
    at: new Date("2025-06-08T20:59:43Z"),
    content: null,
  };
  const context = { from: "15550783881", id: "wamid.ours" };
  assert.deepEqual(readMessage({ type: "text", text: { body: "Stop" } }), {
    ...common,
    type: "text",
    text: "Stop",
    payload: null,
    answers: null,
  });
  assert.deepEqual(
    readMessage({ type: "button", context, button: { payload: "unsub", text: "No more" } }),
    {
      ...common,
      type: "button",
      text: "No more",
      payload: "unsub",
      content: { payload: "unsub", text: "No more" },
      answers: "wamid.ours",
    },
  );
  for (const [interactive, text, payload] of [
    [{ type: "button_reply", button_reply: { id: "yes", title: "Yes" } }, "Yes", "yes"],
    [{ type: "list_reply", list_reply: { id: "a", title: "A", description: "x" } }, "A", "a"],
    [
      {
        type: "nfm_reply",
        nfm_reply: { name: "flow", body: "Sent", response_json: '{"flow_token":"t"}' },
      },
      "Sent",
      '{"flow_token":"t"}',
    ],
  ] as const)
    assert.deepEqual(readMessage({ type: "interactive", context, interactive }), {
      ...common,
      type: "interactive",
      text,
      payload,
      content: interactive,
      answers: "wamid.ours",
    });
  const image = { id: "1", caption: "look" };
  assert.deepEqual(readMessage({ type: "image", image }), {
    ...common,
    type: "image",
    text: "look",
    payload: null,
    content: image,
    answers: null,
  });
  for (const [message, text] of [
    [{ context, type: "text", text: { body: "STOP" } }, "STOP"],
    [{ context, type: "image", image }, "look"],
  ] as const) {
    const edit = { original_message_id: "wamid.before", message };
    const read_as = { type: "edit", text, payload: null, content: edit, answers: "wamid.ours" };
    assert.deepEqual(readMessage({ type: "edit", edit }), { ...common, ...read_as });
  }
  assert.deepEqual(readMessage({ type: "sticker", sticker: { id: "1" } }), {
    ...common,
    content: { id: "1" },
    type: "sticker",
    text: null,
    payload: null,
    answers: null,
  });
});

test("reads the sender by number, by BSUID or by the webhook's contact", () => {
  const text = { type: "text", text: { body: "x" } };
  const message = { id: "wamid.in", timestamp: "1749416383", ...text };
  const senderOf = (contacts: object[], sender: object) =>
    read("messages", { metadata, contacts, messages: [{ ...message, ...sender }] })
      .filter((event) => event.kind === "reply")
      .map(({ from, bsuid }) => [from, bsuid]);
  assert.deepEqual(senderOf([], { from_user_id: "US.1" }), [[null, "US.1"]]);
  assert.deepEqual(senderOf([], { from_parent_user_id: "US.ENT.1" }), [[null, "US.ENT.1"]]);
  assert.deepEqual(senderOf([], { from: "US.1" }), [[null, "US.1"]]);
  const contacts = [
    { wa_id: "16505550001", user_id: "US.1" },
    { wa_id: "16505550002", user_id: "US.2" },
  ];
  assert.deepEqual(senderOf(contacts, { from_user_id: "US.2" }), [["16505550002", "US.2"]]);
  assert.deepEqual(senderOf(contacts, { from: "16505550001" }), [["16505550001", "US.1"]]);
  assert.deepEqual(senderOf(contacts.slice(0, 1), {}), [["16505550001", "US.1"]]);
  assert.deepEqual(senderOf(contacts, {}), []);
});

test("reads a customer's parent BSUID beside the other one, and its phone", () => {
  const [bsuid, parent_bsuid, phone] = ["US.1", "US.ENT.1", "16505551234"];
  const ids = { from_user_id: bsuid, from_parent_user_id: parent_bsuid };
  const common = { id: "wamid.in", timestamp: "1749416383", type: "text", text: { body: "x" } };
  const readKnown = (contacts: object[], message: object, statuses: object[] = []) =>
    read("messages", { metadata, contacts, messages: [{ ...common, ...message }], statuses });
  const [reply] = readKnown([], ids);
  assert.deepEqual(reply?.kind === "reply" && [reply.from, reply.bsuid, reply.parent_bsuid], [
    null,
    bsuid,
    parent_bsuid,
  ]);
  const links = [bsuid, parent_bsuid].map((id) => ({ kind: "link", phone, bsuid: id }));
  const linksIn = (events: ReturnType<typeof read>) => events.filter(({ kind }) => kind === "link");
  assert.deepEqual(linksIn(readKnown([], { ...ids, from: phone })), links);
  const contact = { wa_id: phone, user_id: bsuid, parent_user_id: parent_bsuid };
  assert.deepEqual(linksIn(readKnown([contact], { from_user_id: "US.2" })).slice(0, 2), links);
  const recipient = { recipient_user_id: bsuid, recipient_parent_user_id: parent_bsuid };
  const status = { ...common, status: "sent", recipient_id: phone, ...recipient };
  assert.deepEqual(linksIn(readKnown([], {}, [status])), links);
});

test("reads the contacts of a webhook as often as it has contacts, however many messages it has", () => {
  let reads = 0;
  const contact = {
    get wa_id() {
      reads++;
      return undefined;
    },
  };
  const contacts = Array.from({ length: 1_000 }, () => contact);
  const messages = Array.from({ length: 1_000 }, () => ({}));
  assert.equal(read("messages", { metadata, contacts, messages }).length, 1_000);
  assert.ok(reads <= 10 * contacts.length, `${reads} reads`);
});

test("reports a message without a sender, and an unknown system message, as unread", () => {
  const unread = (reason: string) => ({ kind: "unread", reason });
  assert.deepEqual(
    readMessage({ type: "text", text: { body: "x" }, from: undefined }),
    unread("message text"),
  );
  assert.deepEqual(
    readMessage({ type: "system", system: { type: "party", body: "Hooray" } }),
    unread("system message party"),
  );
});

test("reads a customer's new number or BSUID with the previous one", () => {
  const moved = {
    kind: "moved",
    at: new Date("2025-06-08T20:59:43Z"),
    before: { from: null, bsuid: "US.1" },
    after: { from: null, bsuid: "US.2" },
  };
  const type = "user_changed_user_id";
  const change = { type: "system", from: undefined, system: { type, user_id: "US.2" } };
  const body = "User Ann changed from US.1 to US.2";
  const previous = { previous_user_id: "US.1" };
  for (const from_user_id of [undefined, "US.2"])
    for (const named of [{ body }, previous, { ...previous, body: "User Ann changed from 1 to 2" }])
      assert.deepEqual(
        readMessage({ ...change, from_user_id, system: { ...change.system, ...named } }),
        moved,
      );
  assert.deepEqual(readMessage({ ...change, from_user_id: "US.1" }), moved);
  const number = { type: "user_changed_number", wa_id: "16505550002", user_id: "US.2" };
  assert.deepEqual(readMessage({ ...change, system: { ...number, ...previous } }), {
    ...moved,
    after: { from: "16505550002", bsuid: "US.2" },
  });
});

test("reads that a customer stops or resumes marketing", () => {
  const preference = {
    wa_id: "16505551234",
    detail: "User requested to stop marketing messages",
    category: "marketing_messages",
    value: "stop",
    timestamp: 1_731_705_721,
  };
  const user_preferences = [
    preference,
    { ...preference, value: "resume", timestamp: "1731705721" },
    { ...preference, value: "maybe" },
    { ...preference, category: "other" },
  ];
  const at = new Date(1_731_705_721_000);
  assert.deepEqual(read("user_preferences", { metadata, user_preferences }), [
    { kind: "preference", from: "16505551234", bsuid: null, at, stop: true },
    { kind: "preference", from: "16505551234", bsuid: null, at, stop: false },
    { kind: "unread", reason: "user preference" },
    { kind: "unread", reason: "user preference" },
  ]);
});

test("reads a template's new status, quality and category, and that it was edited", () => {
  const names = {
    message_template_id: 1_689_556_908_129_832,
    message_template_name: "offer",
    message_template_language: "en_US",
  };
  const common = {
    kind: "template",
    provider_template_id: "1689556908129832",
    name: "offer",
    language: "en_US",
    at: new Date(1_700_000_000_000),
  };
  const status = (event: string, more: object = {}) =>
    read("message_template_status_update", { ...names, event, reason: "NONE", ...more });
  assert.deepEqual(status("APPROVED"), [{ ...common, status: "APPROVED" }]);
  assert.deepEqual(status("REJECTED", { reason: "INVALID_FORMAT" }), [
    { ...common, status: "REJECTED", reason: "INVALID_FORMAT" },
  ]);
  assert.deepEqual(
    status("PAUSED", { other_info: { title: "FIRST_PAUSE", description: "Low quality" } }),
    [{ ...common, status: "PAUSED", reason: "Low quality" }],
  );
  for (const sendable of ["FLAGGED", "UNARCHIVED"])
    assert.deepEqual(status(sendable), [{ ...common, status: "APPROVED" }]);
  assert.deepEqual(status("IN_APPEAL"), [{ ...common, status: "PENDING" }]);
  assert.deepEqual(status("PENDING_DELETION"), [{ ...common, status: "DISABLED" }]);
  assert.deepEqual(status("SOMETHING_NEW"), [{ kind: "unread", reason: "template status" }]);
  assert.deepEqual(
    read("message_template_quality_update", {
      ...names,
      previous_quality_score: "GREEN",
      new_quality_score: "YELLOW",
    }),
    [{ ...common, quality: "YELLOW" }],
  );
  assert.deepEqual(
    read("template_category_update", {
      ...names,
      previous_category: "UTILITY",
      new_category: "MARKETING",
    }),
    [{ ...common, category: "MARKETING" }],
  );
  const edited = { ...names, message_template_element: "Hello {{1}}" };
  assert.deepEqual(read("message_template_components_update", edited), [
    { ...common, content_changed: true },
  ]);
  const announced = { ...names, correct_category: "MARKETING", category_update_timestamp: 1 };
  assert.deepEqual(read("template_category_update", announced), []);
});

test("names a template whose ID lost digits by its name and language", () => {
  const value = { message_template_id: 2 ** 53 + 2, event: "PAUSED" };
  assert.deepEqual(read("message_template_status_update", value), [
    { kind: "unread", reason: "template without an ID" },
  ]);
  const names = { message_template_name: "offer", message_template_language: "en_US" };
  const [event] = read("message_template_status_update", { ...value, ...names });
  assert.ok(event?.kind === "template");
  assert.deepEqual(
    [event.provider_template_id, event.name, event.language],
    [null, "offer", "en_US"],
  );
});

test("describes a change of the business account in one line of limited length", () => {
  const [restricted] = read("account_update", {
    event: "ACCOUNT_RESTRICTION",
    restriction_info: [{ restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING" }],
  });
  assert.ok(restricted?.kind === "account");
  assert.match(restricted.event, /^account_update \{"event":"ACCOUNT_RESTRICTION".*BIZ_INITIATED/);
  const [capability] = read("business_capability_update", { note: "é".repeat(9_000) });
  assert.ok(capability?.kind === "account");
  assert.equal(capability.event.length, 500);
});

test("reports that a number may have another quality rating", () => {
  const value = { display_phone_number: "15550783881", event: "THROUGHPUT_UPGRADE" };
  assert.deepEqual(read("phone_number_quality_update", value), [{ kind: "number" }]);
});

test("omits a field that concerns nothing here, and reports an unknown one as unread", () => {
  assert.deepEqual(read("calls", { metadata, calls: [{ id: "1" }] }), []);
  assert.deepEqual(read("messages", { metadata, errors: [{ code: 130_429 }] }), []);
  assert.deepEqual(read("polls", { metadata }), [{ kind: "unread", reason: "field polls" }]);
  assert.deepEqual(read("messages", { metadata, polls: [] }), [
    { kind: "unread", reason: "messages.polls" },
  ]);
});
