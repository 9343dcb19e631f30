import { Link } from "@tanstack/react-router";
import { LinkForm } from "./link-form.tsx";
import { SignInFrame } from "./sign-in-frame.tsx";
import { useLinkSecret, useSignIn } from "./use-sign-in.ts";

/** Sets a new password with a link from a mail. */
export function ResetPage() {
  const link = useLinkSecret();
  const signIn = useSignIn("/");
  return (
    <SignInFrame title="Choose a new password">
      {link ? (
        <LinkForm link={link} signIn={signIn} mustSet />
      ) : (
        <p className="text-muted">
          This page needs the link from the mail.{" "}
          <Link to="/sign-in/forgot" className="text-accent underline">
            Ask for a new one
          </Link>
        </p>
      )}
    </SignInFrame>
  );
}
