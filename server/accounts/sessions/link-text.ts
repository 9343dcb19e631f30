/** What follows # in a link: `<account>_<id>_<secret>`. No server log shows it. */
export type LinkParts = {
  readonly account_id: number;
  readonly id: number;
  readonly secret: string;
};

const form = /^([1-9][0-9]{0,15})_([1-9][0-9]{0,15})_([0-9a-f]{64})$/;

/** Formats the secret part of a link. */
export function writeLink({ account_id, id, secret }: LinkParts): string {
  return `${account_id}_${id}_${secret}`;
}

/** Parses it; null if the text does not have its form. */
export function readLink(text: string): LinkParts | null {
  const [, account, id, secret] = form.exec(text) ?? [];
  if (secret === undefined) return null;
  return { account_id: Number(account), id: Number(id), secret };
}
