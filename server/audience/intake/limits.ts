// What one campaign may bring. Apart from the schemas, which take long to load in a thread.

/** Recipients of one campaign, from whichever source. */
export const recipients_max = 1_000_000;
/** Recipients that are stored in one statement, beside other writes; more are stored by COPY. */
export const few_recipients_max = 5_000;
/** One statement of a campaign, and the reading of its file, may take so long. */
export const statement_seconds = 600;
