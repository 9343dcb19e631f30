import { Link, useRouter, type LinkComponent } from "@tanstack/react-router";
import type { ComponentProps, ReactNode } from "react";
import { useMaySee } from "./permission.ts";

type AnchorProps = ComponentProps<"a"> & {
  /** Shown to a role without the permission; by default the words of the link. */
  readonly otherwise?: ReactNode;
};

/** Links to a page that needs another permission than the page around it; without it, only shows the words. */
export const PageLink: LinkComponent<(props: AnchorProps) => ReactNode> = ({
  otherwise,
  ...props
}) => {
  const { routesByPath } = useRouter();
  const route = routesByPath[props.to as keyof typeof routesByPath];
  if (useMaySee(route.options.staticData?.permission))
    return <Link {...(props as ComponentProps<typeof Link>)} />;
  return <>{otherwise === undefined ? props.children : otherwise}</>;
};
