import type { FastifyReply } from "fastify";
import type { SignInResponse } from "../../../accounts/sessions/session-schema.ts";
import type { SignInResult } from "../../../accounts/sessions/sign-in.ts";
import { setSessionCookie } from "../../checks/session-cookie.ts";

/** Sets the session's cookie of a complete sign-in, and returns the body of the answer. */
export function answerSignIn(reply: FastifyReply, result: SignInResult): SignInResponse {
  if (result.cookie === null)
    return {
      signed_in: false,
      choices: [...result.choices],
      more_accounts: result.more_accounts,
      code_required: result.code_required,
    };
  setSessionCookie(reply, result.cookie);
  const choices = result.account ? [result.account] : [];
  return { signed_in: true, choices, more_accounts: false, code_required: false };
}
