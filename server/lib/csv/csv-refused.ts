/** The file is not valid CSV, or too large; the message follows a field's name. */
export class CsvRefused extends Error {}
