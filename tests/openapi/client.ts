// What a client's author writes against the types that openapi-typescript makes of the contract.
// It is compiled, never run: the types are what is tested.

import createClient from "openapi-fetch";

import type { components, paths } from "./contract.d.ts";

type Schemas = components["schemas"];
type Problem = Schemas["Problem"];

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
    return [reason(error)];
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

export async function newest(): Promise<Problem | string | undefined> {
  const path = { name: "notes.txt" };
  const { error } = await client.GET("/gridfs/{name}", { params: { path }, parseAs: "stream" });
  return error;
}

export async function stored(title: string): Promise<[string, string] | undefined> {
  const body = { title, text: "" };
  const { data, response } = await client.POST("/notes", { body });
  // @ts-expect-error: a note has a text
  await client.POST("/notes", { body: { title } });
  return data && [data._id, response.headers.get("Location") ?? `/notes/${data._id}`];
}

export async function note(_id: string): Promise<string> {
  const { data, error } = await client.GET("/notes/{_id}", { params: { path: { _id } } });
  return data?.text ?? reason(error);
}

/** The stack's own refusals are text; all other errors are problem details. */
export function reason(error: Problem | string | undefined): string {
  return typeof error === "object" ? (error.detail ?? error.title) : (error ?? "");
}

export async function slept(ms: number): Promise<number | string> {
  const { data, error } = await client.GET("/sleep", { params: { query: { ms } } });
  return data?.slept_ms ?? reason(error);
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

export const problem: Problem = { type: "about:blank", title: "Not Found", status: 404 };

// @ts-expect-error: no status
export const noStatus: Problem = { type: "about:blank", title: "Not Found" };
