// What only an operator sets of an account. A file brings it from another operator.
import { AccountLimits } from "../../accounts/accounts/account-limits-schema.ts";
import { endpointPrefix } from "../../telephony/extensions/endpoint-prefix.ts";
import { columnList, type Client } from "./moved-tables.ts";

const limit_columns = Object.keys(AccountLimits.properties);

export type OperatorSettings = {
  readonly features: readonly string[];
  /** By column. */
  readonly limits: Readonly<Record<string, unknown>>;
};

/** Reads the features and the limits of an account. */
export async function readOperatorSettings(
  client: Client,
  account_id: number,
): Promise<OperatorSettings> {
  const { rows } = await client.query<{ features: string[]; [limit: string]: unknown }>(
    `select features, ${columnList(limit_columns)} from accounts where account_id = $1`,
    [account_id],
  );
  const { features, ...limits } = rows[0]!;
  return { features, limits };
}

/**
 * Removes the feature `operator`, which is for those who run this installation, and gives each extension that may not
 * keep its endpoint then the default one. Returns these extensions.
 */
export async function removeOperator(client: Client, account_id: number): Promise<string[]> {
  await client.query(
    "update accounts set features = array_remove(features, 'operator') where account_id = $1",
    [account_id],
  );
  const { rows } = await client.query<{ extension: string }>(
    `update extensions set endpoint = $2 || extension
     where account_id = $1 and not starts_with(endpoint, $2) returning extension`,
    [account_id, endpointPrefix({ id: account_id, features: new Set() })],
  );
  return rows.map(({ extension }) => extension).toSorted();
}

/** Notes what an import does, or did, with the settings of the file, and what the operator checks. */
export function settingsNotes(
  account_id: number,
  { features, limits }: OperatorSettings,
  { keeps_operator, stored }: { keeps_operator: boolean; stored: boolean },
): string[] {
  const values = Object.entries(limits).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return [
    ...(features.includes("operator") ? [operatorNote(keeps_operator, stored)] : []),
    `Check the limits that the file brings, and change them with trunkline account limits ${account_id}: ${values.join(", ")}.`,
  ];
}

/** Notes which extensions have lost an endpoint of an operator. */
export function extensionNotes(extensions: readonly string[]): string[] {
  if (extensions.length === 0) return [];
  return [
    `The endpoints of the extensions ${extensions.join(", ")} did not begin with the account's prefix, so they are the default ones now: name the phones so, or change the endpoints.`,
  ];
}

const operator_reason = "it gives access to the nodes, trunks and numbers of this installation";

function operatorNote(keeps_operator: boolean, stored: boolean): string {
  if (keeps_operator)
    return `The account ${stored ? "has" : "will have"} the feature operator: ${operator_reason}.`;
  return stored
    ? `The feature operator was removed: ${operator_reason}. Grant it with trunkline account features.`
    : `The feature operator will be removed: ${operator_reason}. Keep it with --operator.`;
}
