import type { SignInResponse } from "../../../accounts/sessions/session-schema.ts";
import type { SignInResult } from "../../../accounts/sessions/sign-in.ts";
import { readToken } from "../../../accounts/tokens/token-text.ts";
import { setSessionCookie } from "../../checks/session-cookie.ts";
import type { PublicContext } from "../../route.ts";

/** Sets the session's cookie of a complete sign-in, and returns the body of the answer. */
export async function answerSignIn(
  { reply, noteWrite }: Pick<PublicContext<unknown>, "reply" | "noteWrite">,
  result: SignInResult,
): Promise<SignInResponse> {
  if (result.cookie === null)
    return {
      signed_in: false,
      choices: [...result.choices],
      more_accounts: result.more_accounts,
      code_required: result.code_required,
    };
  await noteWrite(readToken(result.cookie)!.account_id);
  setSessionCookie(reply, result.cookie);
  const choices = result.account ? [result.account] : [];
  return { signed_in: true, choices, more_accounts: false, code_required: false };
}
