// Every column that can hold text, by what it may say about a person. A column that is new belongs in one of these lists.

type Columns = Readonly<Record<string, string>>;

/** Columns with people's identities, or text by or about them: the tests of erasures fill each of them. */
const personal: Columns = {
  call_events: "data",
  call_legs: "number",
  call_menu_steps: "key",
  call_report_counts: "agent caller",
  call_transcripts: "text",
  call_usage: "subject",
  callback_attempts: "response",
  calls: "collected dtmf from_number lead_fields to_number to_phone",
  chat_recipients: "bsuid phone provider_message_id variables",
  chat_replies: "answers bsuid content payload phone provider_message_id text",
  chat_unread_webhooks: "body",
  click_to_calls: "from_number reference remark source to_number to_phone",
  contacts: "email name phone phone_e164",
  erasures: "phone",
  events: "data",
  group_members: "name phone phone_key variables",
  idempotency_keys: "response",
  jobs: "payload",
  lead_import_rejects: "cells",
  lead_import_rows: "cells",
  lead_timeline: "data",
  leads: "custom_fields email name phone phone_e164",
  person_bsuids: "bsuid phone_key",
  phone_aliases: "alias_key phone_key",
  saved_views: "name search",
  suppressions: "bsuid evidence person_key phone reason",
  voice_recipients: "number phone variables",
  voice_rejects: "value",
};

/** Columns with people's identities for seconds, while a webhook or a live call is handled, or during an erasure. */
const transient: Columns = {
  call_commands: "target",
  calls: "incoming position",
  chat_inbox: "body",
  erasures: "bsuid",
  live_customers: "phone_key",
};

/** The account's own words about its staff, lists and settings: docs/guides/retention.md names them as kept. */
const chosen: Columns = {
  accounts: "name",
  agent_group_members: "number",
  agent_groups: "name",
  agent_numbers: "name number phone_key",
  audit_entries: "request_id user_agent",
  away_agents: "number",
  callback_endpoints: "description url",
  chat_campaigns: "name",
  credit_transfers: "note",
  extensions: "endpoint extension name",
  groups: "name",
  idempotency_keys: "key",
  invitations: "email",
  lead_imports: "column_map file_name header",
  roles: "name",
  sign_in_emails: "email",
  sign_in_failures: "subject",
  tokens: "name user_agent",
  users: "email name phone",
  voice_audio: "samples",
  voice_campaigns: "callback_url name",
  voice_files: "name",
  workspaces: "name",
};

/** Constants, secrets, settings and content without a recipient. */
const impersonal: Columns = {
  accounts:
    "call_caps call_destinations call_destinations_allowed calling_hours_allowed chat_stop_scope chat_stop_words country_code features time_zone",
  audit_entries: "action address detail subject_id",
  automation_flows: "name opening",
  call_campaigns: "kind",
  call_commands: "kind",
  call_events: "type",
  call_legs: "blocker outcome role state status",
  call_menu_steps: "node",
  call_messages: "node recording state",
  call_report_counts: "type",
  call_transcripts: "who",
  callback_attempts: "error",
  callback_deliveries: "method state type",
  callback_endpoints: "disabled_reason kind old_secret secret types",
  callback_replays: "include state",
  calls:
    "answered_by cli_number direction disposition ended_by ended_reason recording_state retried_leg stage status",
  chat_campaigns: "failure mm_lite plan state trimmed",
  chat_counts: "slot",
  chat_minutes: "slot",
  chat_report_counts: "slot",
  chat_flows: "name opening",
  chat_holds: "detail reason scope",
  chat_inbox: "driver",
  chat_numbers: "business_account_id driver name phone provider_phone_number_id quality",
  chat_recipients: "error retry_error state",
  chat_replies: "type",
  chat_routes: "driver kind provider_id",
  chat_templates:
    "business_account_id category components driver header_media language name parameter_format provider_template_id quality rejection_reason status variable_defaults",
  chat_transitions: "from_state ledger to_state",
  chat_unread_webhooks: "driver reason",
  click_to_calls:
    "agent_not_pick_policy callback_method cli_number extension_for_dis extension_for_transfer policy_applied",
  contacts: "time_zone",
  credit_balances: "kind",
  credit_reservations: "kind subject",
  credit_transfers: "from_ledger_account kind to_ledger_account type",
  custom_fields: "key label options type",
  database_identity: "oids system_identifier timeline",
  erasure_records: "kind",
  erasures: "counts phone_shown progress state",
  events: "type",
  extensions: "digit",
  idempotency_keys: "endpoint request_sha256",
  invitations: "secret_sha256",
  jobs: "kind subject",
  lead_import_rejects: "errors",
  lead_imports: "failure state",
  lead_timeline: "kind",
  leases: "name",
  migration_contracts: "migration since",
  migration_steps: "checksum migration position",
  migrations: "checksum name",
  phone_numbers: "number",
  picklist_options: "color label picklist value",
  rate_windows: "endpoint",
  retention_positions: "setting",
  roles: "permissions",
  saved_views: "columns page",
  schema_functions: "checksum name",
  sign_in_links: "origin secret_sha256",
  suppressions: "channel scope source",
  tokens: "address allowed_addresses kind scopes secret_sha256",
  trunks: "agent_numbers caller_ids destinations endpoint name number_format number_prefix",
  user_passkeys: "credential_id name public_key transports",
  user_passwords: "password_hash",
  user_totp: "recovery_codes secret",
  users: "extension",
  voice_ai_agents: "name plan rehearsals transfer_to",
  voice_audio: "name",
  voice_campaigns: "call_type caller_id plan send_to state time_zones",
  voice_files:
    "answering_machine audio_name format language opt_out_key reason script status text upload",
  voice_holds: "detail reason",
  voice_menus: "graph name",
  voice_nodes: "ari_app ari_password ari_url ari_user cdr_path driver epoch name sounds_dir",
  voice_recipients: "audio_name skip_reason state time_zones",
  voice_rejects: "reason",
  whatsapp_credentials: "access_token app_secret verify_token",
};

const named = (columns: Columns) =>
  Object.entries(columns)
    .flatMap(([table, names]) => names.split(" ").map((name) => `${table}.${name}`))
    .toSorted();

export const personal_columns = named(personal);
export const known_columns = [personal, transient, chosen, impersonal].flatMap(named).toSorted();
