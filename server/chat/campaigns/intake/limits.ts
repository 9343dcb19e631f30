// The limits of a campaign's body, apart from the schemas, which take long to load in a thread.

/** Recipients of one JSON body; files take more. */
export const contacts_max = 100_000;
/** Variables of one recipient. */
export const variables_max = 1_000;
