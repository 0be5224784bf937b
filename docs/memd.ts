// A client of memd in one file: JSON-RPC 2.0 over its Unix socket, one JSON object a line.
// Node 22.18 and newer run it as it is, 22.6 and newer with --experimental-strip-types. For Node 20 make
// a memd.mjs of it: npx esbuild@0.28 memd.ts --format=esm --outfile=memd.mjs
// It needs nothing else. Copy it, and change what you like.
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { homedir, userInfo } from "node:os"
import { join } from "node:path"

/** What memd refused. `kind` says why; `retry`: the same request may succeed later. */
export class MemdError extends Error {
  kind: string
  retry: boolean
  hint?: string

  constructor(message: string, data: { kind?: string; retry?: boolean; hint?: string } = {}) {
    super(message)
    this.name = "MemdError"
    this.kind = data.kind ?? "internal"
    this.retry = data.retry ?? false
    this.hint = data.hint
  }
}

export type Options = {
  path?: string
  keyFile?: string
  /** Milliseconds to wait for an answer; 0 waits for ever. */
  timeout?: number
  /** Called with each event that "events.subscribe" asked for (docs/usage.md lists them). */
  onEvent?: (name: string, event: Record<string, any>) => void
}

type Waiting = { resolve: (result: any) => void; reject: (error: Error) => void }

export class Memd {
  private socket?: Socket
  private opening?: Promise<void> // of the connection that is open, or about to be
  private closed = false
  private options: Options
  private timeout: number
  private waiting = new Map<number, Waiting>() // in the order in which they were sent
  private unread = ""
  private ids = 0

  private constructor(options: Options) {
    this.options = options
    this.timeout = options.timeout ?? 30_000
  }

  /** Connect to the daemon; presents the key in the file that MEMD_CLIENT_KEY_FILE names. */
  static async connect(options: Options = {}) {
    const memd = new Memd(options)
    await memd.open()
    return memd
  }

  /** Call one of memd's methods (docs/api.md). Rejects with a MemdError.
   *  After a lost connection the next call connects again; what it was subscribed to is not. */
  async call(method: string, params: Record<string, unknown> = {}): Promise<any> {
    await this.open()
    return this.request(method, params)
  }

  /** Close for good. */
  close() {
    this.closed = true
    this.socket?.end()
  }

  private open(): Promise<void> {
    if (this.closed) return Promise.reject(gone())
    this.opening ??= this.dial().catch((error) => {
      this.opening = undefined
      throw error
    })
    return this.opening
  }

  private async dial() {
    const { path = socketPath(), keyFile = process.env.MEMD_CLIENT_KEY_FILE } = this.options
    const key = keyFile ? readKey(keyFile) : undefined
    const socket = connect(path)
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("connect", resolve)
        socket.once("error", () => reject(nobody(path)))
      })
      socket.setEncoding("utf8")
      socket.on("data", (text: string) => this.read(text))
      socket.on("error", () => this.lost(socket))
      socket.on("close", () => this.lost(socket))
      this.socket = socket
      this.unread = ""
      await this.request("system.hello", key ? { client_key: key } : {})
    } catch (error) {
      socket.destroy() // or it would keep the process alive
      throw error
    }
  }

  private request(method: string, params: Record<string, unknown>): Promise<any> {
    const id = ++this.ids
    return new Promise((resolve, reject) => {
      if (!this.socket || this.socket.destroyed) return reject(gone())
      const timer = this.timeout ? setTimeout(() => this.giveUp(id, method), this.timeout) : undefined
      this.waiting.set(id, {
        resolve: (result) => (clearTimeout(timer), resolve(result)),
        reject: (error) => (clearTimeout(timer), reject(error)),
      })
      this.send({ id, method, params })
    })
  }

  private send(message: object) {
    this.socket?.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n")
  }

  private giveUp(id: number, method: string) {
    this.send({ method: "$/cancelRequest", params: { id } })
    const error = new MemdError(`no answer to ${method} in time`, { kind: "timeout", retry: true })
    this.waiting.get(id)?.reject(error)
    this.waiting.delete(id)
  }

  private read(text: string) {
    const lines = (this.unread + text).split("\n")
    this.unread = lines.pop() ?? ""
    for (const line of lines) {
      const answer = JSON.parse(line)
      if (answer.method?.startsWith("event.")) this.options.onEvent?.(answer.method, answer.params)
      // An error without an id is about the oldest request: the ones before it are answered.
      const id = answer.error && answer.id === null ? [...this.waiting.keys()][0] : answer.id
      const waiting = this.waiting.get(id)
      if (!waiting) continue // an event, or the answer to a call that was given up
      this.waiting.delete(id)
      if (answer.error) waiting.reject(new MemdError(answer.error.message, answer.error.data))
      else waiting.resolve(answer.result)
    }
  }

  private lost(socket: Socket) {
    if (socket !== this.socket) return
    this.socket = this.opening = undefined
    for (const waiting of this.waiting.values()) waiting.reject(gone())
    this.waiting.clear()
  }
}

function gone() {
  return new MemdError("memd went away", { kind: "not_running", retry: true })
}

function nobody(path: string) {
  const message = `nobody listens at ${path}; start it: memd serve`
  return new MemdError(message, { kind: "not_running", retry: true })
}

function readKey(file: string) {
  try {
    return readFileSync(file, "utf8").trim()
  } catch (error) {
    throw new MemdError(`the key file ${file} cannot be read: ${(error as Error).message}`, { kind: "denied" })
  }
}

/** Where the daemon listens; "memd config path" prints it, too. */
export function socketPath(): string {
  const { MEMD_HOME, MEMD_PROFILE, XDG_RUNTIME_DIR } = process.env
  const name = !MEMD_PROFILE || MEMD_PROFILE === "default" ? "memd.sock" : `memd-${MEMD_PROFILE}.sock`
  if (MEMD_HOME) return join(MEMD_HOME, "run", name)
  if (process.platform === "darwin")
    return join(homedir(), "Library/Caches/TemporaryItems/memd", name)
  return join(XDG_RUNTIME_DIR ?? `/run/user/${userInfo().uid}`, "memd", name)
}
