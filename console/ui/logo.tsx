import icon from "../icon.svg";

export function Logo() {
  return <img src={icon} alt="" className="size-8" />;
}
