// memd's plugin for opencode, written by "memd connect opencode": it calls "memd hook" at the
// events that opencode has no settings for. Without a daemon it does nothing.
import { spawn } from "node:child_process"

const COMMAND = ["memd", "hook", "opencode"]
const MILLISECONDS_MAX = 3000
const MESSAGES_MAX = 400
const RESULT_CHARS_MAX = 4000

function hook(event, payload) {
  return new Promise((resolve) => {
    let said = ""
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, event], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: MILLISECONDS_MAX,
    })
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (chunk) => (said += chunk))
    child.on("close", () => {
      try {
        resolve(JSON.parse(said).additionalContext ?? "")
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

// What stands in a message besides what plugins added: theirs is marked as synthetic.
function words(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")
}

function spoken({ info, parts }) {
  const at = new Date(info.time?.created ?? Date.now()).toISOString()
  const tools = parts.filter((part) => part.type === "tool")
  const calls = tools.map((part) => ({
    id: part.callID,
    type: "function",
    function: { name: part.tool, arguments: part.state?.input ?? {} },
  }))
  const message = { role: info.role, content: words(parts), timestamp: at }
  const results = tools
    .filter((part) => part.state?.status === "completed")
    .map((part) => ({
      role: "tool",
      name: part.tool,
      tool_call_id: part.callID,
      content: String(part.state.output ?? "").slice(0, RESULT_CHARS_MAX),
      exit_code: part.state.metadata?.exit,
      timestamp: at,
    }))
  return [calls.length ? { ...message, tool_calls: calls } : message, ...results]
}

export const Memd = async ({ client, directory }) => {
  // How a session goes on with its next prompt. One that this process has not seen may be new:
  // the hook knows whether it was given a brief.
  const begun = new Map()
  const parents = new Map()
  let windows

  // A sub-agent's session hangs below another one and is nobody's.
  async function isOwn(id) {
    if (!parents.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => undefined)
      parents.set(id, found?.data?.parentID)
    }
    return !parents.get(id)
  }

  async function messages(id) {
    const found = await client.session.messages({ path: { id } }).catch(() => undefined)
    return found?.data ?? []
  }

  async function windowOf(info) {
    if (windows === undefined) {
      const found = await client.config.providers().catch(() => undefined)
      windows = new Map()
      for (const provider of found?.data?.providers ?? [])
        for (const [name, model] of Object.entries(provider.models ?? {}))
          windows.set(`${provider.id}/${name}`, model.limit?.context)
    }
    return windows.get(`${info.providerID}/${info.modelID}`)
  }

  const of = (session_id) => ({ session_id, cwd: directory })

  async function idle(id) {
    const last = (await messages(id)).filter((each) => each.info.role === "assistant").at(-1)
    if (!last) return
    const tokens = last.info.tokens ?? {}
    const used = (tokens.input ?? 0) + (tokens.cache?.read ?? 0) + (tokens.cache?.write ?? 0)
    await hook("session.idle", {
      ...of(id),
      text: words(last.parts),
      message_id: last.info.id,
      model: last.info.modelID,
      used_tokens: used || undefined,
      window_tokens: await windowOf(last.info),
    })
  }

  return {
    "chat.message": async (input, output) => {
      const id = input.sessionID
      // "opencode run" puts a prompt of several words between quotation marks.
      const prompt = words(output.parts).replace(/^"([^"]*)"$/, "$1")
      if (!prompt.trim() || !(await isOwn(id))) return
      const begins = begun.has(id) ? begun.get(id) : "resume"
      begun.set(id, undefined)
      const message_id = output.message?.id ?? input.messageID
      const text = await hook("chat.message", { ...of(id), prompt, message_id, begins })
      const last = output.parts.at(-1)
      if (text && last)
        output.parts.push({
          id: `${last.id}m`,
          sessionID: last.sessionID,
          messageID: last.messageID,
          type: "text",
          text,
          synthetic: true,
        })
    },
    "experimental.session.compacting": async (input) => {
      const id = input.sessionID
      if (!(await isOwn(id))) return
      const said = (await messages(id)).slice(-MESSAGES_MAX).flatMap(spoken)
      await hook("experimental.session.compacting", { ...of(id), messages: said })
    },
    event: async ({ event }) => {
      const id = event.properties?.sessionID ?? event.properties?.info?.id
      if (!id || !(await isOwn(id))) return
      if (event.type === "session.idle") await idle(id)
      if (event.type === "session.compacted") {
        begun.set(id, "compact")
        await hook("session.compacted", of(id))
      }
      if (event.type === "session.deleted") await hook("session.deleted", of(id))
    },
  }
}
