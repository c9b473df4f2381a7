// What a client's author writes against the types that openapi-typescript makes of the contract.
// It is compiled, never run: the types are what is tested.

import createClient from "openapi-fetch";

import type { components, paths } from "./contract.d.ts";

type Schemas = components["schemas"];

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8000" });

export async function text(): Promise<string | undefined> {
  const { data } = await client.GET("/index", { parseAs: "text" });
  return data;
}

export async function message(): Promise<"Hello, World!" | undefined> {
  const { data } = await client.GET("/json");
  // @ts-expect-error: the object has no other member
  data?.greeting;
  return data?.message;
}

export async function article(): Promise<string[]> {
  const { data, error } = await client.GET("/mongo", { params: { query: { doc: "big" } } });
  if (!data) {
    return error ? [error.title] : [];
  }
  if (data.slug === "small") {
    // @ts-expect-error: only the big document has people
    data.people;
    return [data._id, data.title];
  }
  // @ts-expect-error: a company may be null
  const companies: string[] = data.people.map((person) => person.company);
  return companies.concat(data.people.flatMap((person) => person.friends.map(({ name }) => name)));
}

export async function anotherArticle(): Promise<void> {
  // @ts-expect-error: there are two documents, and this is neither
  await client.GET("/mongo", { params: { query: { doc: "huge" } } });
  await client.GET("/mongo");
}

export async function extensions(): Promise<Map<string, string | null>> {
  const { data = [] } = await client.GET("/agents");
  return new Map(data.map((agent) => [agent.number, agent.extension]));
}

export async function photo(): Promise<Blob | undefined> {
  const { data, response } = await client.GET("/files/{name}", {
    params: { path: { name: "photo.jpg" } },
    parseAs: "blob",
  });
  return response.ok ? data : undefined;
}

export async function unnamed(): Promise<void> {
  // @ts-expect-error: a file has a name
  await client.GET("/files/{name}");
  // @ts-expect-error: there is no such path
  await client.GET("/file");
}

export async function newest(): Promise<404 | 500 | 503 | undefined> {
  const path = { name: "notes.txt" };
  const { error } = await client.GET("/gridfs/{name}", { params: { path }, parseAs: "stream" });
  return error?.status;
}

export async function slept(ms: number): Promise<number | string | undefined> {
  const { data, error } = await client.GET("/sleep", { params: { query: { ms } } });
  return data?.slept_ms ?? error?.detail ?? error?.title;
}

export async function tokens(): Promise<string[]> {
  const { data } = await client.GET("/slow_api", {
    params: { query: { calls: 2, ms: 10 }, header: { "X-Request-Id": "7f3c9a51" } },
  });
  return (data?.results ?? []).sort((one, other) => one.call - other.call).map(({ token }) => token);
}

// Each of these would compile if what it leaves out were not required, or what it adds were allowed.

export const result: Schemas["SlowResult"] = { call: 0, token: "5b0c7f1d92ae4638" };

// @ts-expect-error: no token
export const noToken: Schemas["SlowResult"] = { call: 0 };

// @ts-expect-error: no company
export const noCompany: Omit<Schemas["Person"], "company"> extends Schemas["Person"] ? 1 : 0 = 1;

// @ts-expect-error: a 404 has no detail
export const detailed: Schemas["NotFound"]["detail"] = "there is nothing here";

export const problem: Schemas["ServiceUnavailable"] = {
  type: "about:blank",
  title: "Service Unavailable",
  status: 503,
};

// @ts-expect-error: a 503 is not a 502
export const another: Schemas["BadGateway"] = problem;
