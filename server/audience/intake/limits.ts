// Limits of one campaign. Separate from the schemas, which load slowly in a thread.

/** Recipients of one campaign, from any source. */
export const recipients_max = 1_000_000;
/** Recipients that are stored by one INSERT; more are stored by COPY. */
export const few_recipients_max = 5_000;
/** Time limit of one statement of a campaign's creation, and of parsing its file. */
export const statement_seconds = 600;
