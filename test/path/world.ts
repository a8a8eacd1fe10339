import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import type { Condition } from "../../src/api/conditions.ts";
import type { RunStatus } from "../../src/api/run-status.ts";
import type { ToolsetStatus } from "../../src/api/toolset-status.ts";
import { type Ended, runPlugin } from "../cli/plugin-process.ts";
import { type ResourceCluster, startResourceCluster } from "../cluster/crds-cluster.ts";
import { eventually } from "../dispatcher/eventually.ts";
import { createDatabase } from "../postgres/postgres.ts";

const root = resolve(import.meta.dirname, "../..");
const program = join(root, "src/bin/controller.ts");

/** An object as kubectl prints it. */
export interface Shown<Status> {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Record<string, string>;
  };
  readonly spec: Record<string, unknown>;
  readonly status?: Status;
}

/** The whole product on real parts: API server with admission, Postgres, the controller and its dispatchers as processes. */
export class World {
  readonly cluster: ResourceCluster;
  readonly folder: string;
  /** Of the controller's own service account. */
  readonly controllerKubeconfig: string;
  /** Of somebody who may do everything, and may be anybody. */
  readonly kubeconfig: string;
  readonly databaseUrl: string;
  readonly #drop: () => Promise<void>;
  readonly controllers: ChildProcess[] = [];
  output = "";

  private constructor(parts: {
    cluster: ResourceCluster;
    folder: string;
    databaseUrl: string;
    drop: () => Promise<void>;
  }) {
    this.cluster = parts.cluster;
    this.folder = parts.folder;
    this.databaseUrl = parts.databaseUrl;
    this.kubeconfig = join(parts.folder, "admin");
    this.controllerKubeconfig = join(parts.folder, "controller");
    this.#drop = parts.drop;
  }

  static async open(name: string): Promise<World> {
    const cluster = await startResourceCluster(name);
    const folder = await mkdtemp(join(tmpdir(), "holdpoint-path-"));
    const { url: databaseUrl, drop } = await createDatabase();
    const world = new World({ cluster, folder, databaseUrl, drop });
    await world.#writeKubeconfigs();
    return world;
  }

  async #writeKubeconfigs(): Promise<void> {
    const { kubectl, kubectlWithInput } = this.cluster;
    await writeFile(this.kubeconfig, await kubectl("config", "view", "--raw", "--flatten"), { mode: 0o600 });
    for (const [kind, name] of [
      ["namespace", "holdpoint-system"],
      ["serviceaccount", "holdpoint-controller"],
    ] as const) {
      const metadata = kind === "namespace" ? { name } : { name, namespace: "holdpoint-system" };
      const manifest = { apiVersion: "v1", kind: kind === "namespace" ? "Namespace" : "ServiceAccount", metadata };
      await kubectlWithInput(JSON.stringify(manifest), "apply", "--namespace=", "-f", "-");
    }
    const token = (
      await kubectl("create", "token", "holdpoint-controller", "--namespace=holdpoint-system", "--duration=1h")
    ).trim();
    const config = JSON.parse(await kubectl("config", "view", "--raw", "--flatten", "-o", "json")) as {
      users: { user: unknown }[];
    };
    for (const user of config.users) user.user = { token };
    await writeFile(this.controllerKubeconfig, JSON.stringify(config), { mode: 0o600 });
  }

  /** Starts a controller as a process of its own. */
  startController(): ChildProcess {
    // The API server is shared with other tests, whose objects are none of this controller's business.
    const scope = ["--watch-namespace", this.cluster.namespace];
    const args = [
      program,
      ...scope,
      "--kubeconfig",
      this.controllerKubeconfig,
      "--leader-elect",
      "false",
      "--lease",
      "2s",
    ];
    const env = { PATH: process.env["PATH"] ?? "", HOLDPOINT_DATABASE_URL: this.databaseUrl };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.on("data", (chunk) => {
      this.output += chunk;
    });
    this.controllers.push(child);
    return child;
  }

  async stopController(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }

  /** The pids of this world's dispatchers that may still run: those of its own namespace, as the API server is shared. */
  dispatcherPids(): number[] {
    return this.#started().flatMap(({ pid, namespace }) =>
      namespace === this.cluster.namespace && isAlive(pid) ? [pid] : [],
    );
  }

  #started(): { pid: number; namespace: string }[] {
    const lines = this.output.split("\n").filter((line) => line.includes('"dispatcher started"'));
    return lines.map((line) => JSON.parse(line) as { pid: number; namespace: string });
  }

  /** Resolves once no dispatcher runs any more. */
  async scaledToZero(): Promise<void> {
    await eventually("the dispatchers are scaled to zero", async () => {
      const pids = this.dispatcherPids();
      if (pids.length > 0) throw new Error(`${pids} still run:\n${this.output.slice(-4_000)}`);
      return true;
    });
  }

  async apply(manifest: object): Promise<void> {
    await this.cluster.kubectlWithInput(JSON.stringify(manifest), "apply", "--server-side", "-f", "-");
  }

  async toolset(name: string, spec: object): Promise<void> {
    await this.apply({ apiVersion: "holdpoint.dev/v1alpha1", kind: "Toolset", metadata: { name }, spec });
  }

  async run(name: string, toolset: string, script: string, extra: object = {}): Promise<void> {
    await this.apply({
      apiVersion: "holdpoint.dev/v1alpha1",
      kind: "Run",
      metadata: { name },
      spec: { toolset: { name: toolset }, script, ...extra },
    });
  }

  async get<Status>(resource: string, name: string): Promise<Shown<Status>> {
    return JSON.parse(await this.cluster.kubectl("get", resource, name, "-o", "json")) as Shown<Status>;
  }

  /** The Run, once its status is as wished. */
  async runWhen(
    name: string,
    what: string,
    wish: (status: RunStatus) => boolean,
  ): Promise<Shown<RunStatus> & { status: RunStatus }> {
    return await eventually(
      `run/${name} ${what}`,
      async () => {
        const run = await this.get<RunStatus>("runs", name);
        if (run.status && wish(run.status)) return { ...run, status: run.status };
        throw new Error(`${JSON.stringify(run.status)}\n${this.output.slice(-3_000)}`);
      },
      30_000,
    );
  }

  async runPhase(name: string, phase: RunStatus["phase"]): Promise<Shown<RunStatus> & { status: RunStatus }> {
    return await this.runWhen(name, `is ${phase}`, (status) => status.phase === phase);
  }

  async toolsetWhen(
    name: string,
    what: string,
    wish: (status: ToolsetStatus) => boolean,
  ): Promise<Shown<ToolsetStatus> & { status: ToolsetStatus }> {
    return await eventually(
      `toolset/${name} ${what}`,
      async () => {
        const toolset = await this.get<ToolsetStatus>("toolsets", name);
        if (toolset.status && wish(toolset.status)) return { ...toolset, status: toolset.status };
        throw new Error(`${JSON.stringify(toolset.status)}\n${this.output.slice(-3_000)}`);
      },
      30_000,
    );
  }

  /** Runs a plugin as somebody. */
  async plugin(user: string, name: string, ...args: string[]): Promise<Ended> {
    return await runPlugin(name, [
      ...args,
      "--kubeconfig",
      this.kubeconfig,
      "-n",
      this.cluster.namespace,
      "--as",
      user,
    ]);
  }

  /** Runs a plugin through kubectl itself, which finds it on the PATH, as somebody. */
  async kubectlPlugin(user: string, plugin: string, ...args: string[]): Promise<string> {
    const kubectl = process.env["HOLDPOINT_TEST_KUBECTL"] ?? "kubectl";
    const env = { ...process.env, PATH: `${join(root, "bin")}:${process.env["PATH"]}` };
    const flags = ["--kubeconfig", this.kubeconfig, "-n", this.cluster.namespace, "--as", user];
    const { stdout, stderr } = await promisify(execFile)(kubectl, [plugin, ...args, ...flags], { env });
    return stdout + stderr;
  }

  /** Names of runs that the journal holds as unfinished. */
  async unfinishedRuns(): Promise<string[]> {
    return await this.#names("select name from holdpoint.runs where finished_at is null order by name");
  }

  /** The database roles of Toolsets under which somebody is connected. */
  async connectedRoles(): Promise<string[]> {
    return await this.#names(
      `select distinct usename as name from pg_stat_activity
       where datname = current_database() and usename like 'holdpoint\\_toolset\\_%' order by 1`,
    );
  }

  async #names(statement: string): Promise<string[]> {
    const client = new pg.Client(this.databaseUrl);
    await client.connect();
    try {
      const { rows } = await client.query<{ name: string }>(statement);
      return rows.map((row) => row.name);
    } finally {
      await client.end();
    }
  }

  /** Lets users read ConfigMaps: the declarations, and the whole of calls whose preview was cut. */
  async allowConfigMaps(name: string, users: readonly string[]): Promise<void> {
    await this.#grant(name, users, [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]);
  }

  /** Lets users see and decide runs, or only see them. */
  async allow(name: string, users: readonly string[], verbs: readonly string[]): Promise<void> {
    await this.#grant(name, users, [{ apiGroups: ["holdpoint.dev"], resources: ["runs", "toolsets"], verbs }]);
  }

  async #grant(name: string, users: readonly string[], rules: object[]): Promise<void> {
    await this.apply({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name }, rules });
    const subjects = users.map((user) => ({ kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" }));
    const roleRef = { kind: "Role", name, apiGroup: "rbac.authorization.k8s.io" };
    await this.apply({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name },
      subjects,
      roleRef,
    });
  }

  async close(): Promise<void> {
    for (const child of this.controllers) await this.stopController(child, "SIGKILL");
    await eventually(
      "the dispatchers end with their controller",
      async () => !this.#started().some(({ pid }) => isAlive(pid)),
    );
    await this.cluster.stop();
    await this.#drop();
    await rm(this.folder, { recursive: true });
  }
}

/** The condition of that type. */
export function conditionOf(
  status: { readonly conditions?: readonly Condition[] },
  type: string,
): Condition | undefined {
  return status.conditions?.find((condition) => condition.type === type);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The text of a file of the repository. */
export async function repositoryFile(path: string): Promise<string> {
  return await readFile(join(root, path), "utf8");
}
