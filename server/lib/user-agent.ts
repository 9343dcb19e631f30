import product from "../../package.json" with { type: "json" };

/** Who requests that leave the house say they are: the product, in the version of its package. */
export const user_agent = `${product.name}/${product.version}`;
