import { issueToken } from "../accounts/tokens/issue-token.ts";
import { revokeToken } from "../accounts/tokens/revoke-token.ts";
import { TokenRequest, type IssuedToken } from "../accounts/tokens/token-schema.ts";
import { listTokens } from "../accounts/tokens/tokens.ts";
import type { Command, Outcome, Words } from "./command.ts";
import { everyPage } from "./every-page.ts";
import { readAs, readId, readList } from "./read-words.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

const columns = [
  "id",
  "kind",
  "user_id",
  "name",
  "scopes",
  "expires_at",
  "revoked_at",
  "last_used_at",
] as const;
const account = { value: "id", about: "The account", required: true } as const;

export const tokenCommands: readonly Command[] = [
  {
    name: "token create",
    summary: "Create a token and print it once",
    options: {
      account,
      kind: {
        value: "kind",
        about: "account (authenticates as the owner) or agent (as --user)",
        required: true,
      },
      name: { value: "name", about: "Purpose of the token", required: true },
      user: { value: "id", about: "User of an agent token" },
      scopes: {
        value: "list",
        about: "Permissions to limit the token to; default all permissions of its user",
      },
      addresses: {
        value: "list",
        about:
          "Addresses and networks that it may be used from, such as 203.0.113.0/24; default any",
      },
      expires: {
        value: "time",
        about: "Default never; a time without an offset is in the account's time zone",
      },
    },
    run: create,
  },
  {
    name: "token list",
    summary: "List an account's tokens, without secrets",
    options: { account },
    run: async (session, words) => {
      const { id } = await session.account(readId("--account", words.option("account")!));
      const db = await session.database();
      const tokens = await everyPage((page) => listTokens(db.query, id, page));
      return { json: { data: tokens }, text: textTable(tokens, columns) };
    },
  },
  {
    name: "token revoke",
    summary: "Revoke a token immediately",
    operands: ["token id"],
    options: { account },
    run: async (session, words) => {
      const id = readId("token id", words.operands[0]!);
      const accountId = readId("--account", words.option("account")!);
      const token = await session.change(accountId, (tx, operator) =>
        revokeToken(tx, operator, id, session.now()),
      );
      return { json: token, text: textTable([token], columns) };
    },
  },
];

async function create(session: Session, words: Words): Promise<Outcome> {
  const [user, scopes] = [words.option("user"), words.option("scopes")];
  const addresses = words.option("addresses");
  const wanted = readAs(TokenRequest, {
    kind: words.option("kind"),
    name: words.option("name"),
    user_id: user === undefined ? undefined : readId("--user", user),
    scopes: scopes === undefined ? undefined : readList(scopes),
    allowed_addresses: addresses === undefined ? undefined : readList(addresses),
    expires_at: words.option("expires"),
  });
  const { id, time_zone } = await session.account(readId("--account", words.option("account")!));
  const { answer, token } = await session.change(id, (tx, operator) =>
    issueToken(tx, operator, wanted, time_zone, session.now()),
  );
  const json: IssuedToken = { ...answer, token };
  return { json, text: `${textTable([answer], columns)}\n\n${token}` };
}
