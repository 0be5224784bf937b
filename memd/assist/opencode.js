// memd's plugin for opencode, written by "memd connect opencode": it calls "memd hook" at the
// events of opencode, which has no settings for hooks. Without a daemon it does nothing.
import { spawn } from "node:child_process"

const COMMAND = ["memd", "hook", "opencode"]
const MILLISECONDS_MAX = 3000
const MESSAGES_MAX = 400
const RESULT_CHARS_MAX = 4000

// Runs a hook and returns the object that it prints, an empty one for none or after an error.
function hook(event, payload) {
  return new Promise((resolve) => {
    let output = ""
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, event], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: MILLISECONDS_MAX,
    })
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (chunk) => (output += chunk))
    child.on("close", () => {
      try {
        resolve(JSON.parse(output))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

// Returns the text of a message without the parts that plugins added, which are synthetic.
function textOf(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")
}

// Returns a prompt. "opencode run" puts one of several words between quotation marks.
function promptOf(parts) {
  return textOf(parts).replace(/^"([^"]*)"$/, "$1")
}

// Returns a message with its tool calls, followed by the results of the tools. The assistant's own
// summaries are left out.
function toMessages({ info, parts }) {
  if (info.summary === true) return []
  const at = new Date(info.time?.created ?? Date.now()).toISOString()
  const tools = parts.filter((part) => part.type === "tool")
  const calls = tools.map((part) => ({
    id: part.callID,
    type: "function",
    function: { name: part.tool, arguments: part.state?.input ?? {} },
  }))
  const content = info.role === "user" ? promptOf(parts) : textOf(parts)
  const message = { role: info.role, content, timestamp: at }
  const results = tools
    .filter((part) => ["completed", "error"].includes(part.state?.status))
    .map(({ tool, callID, state }) => ({
      role: "tool",
      name: tool,
      tool_call_id: callID,
      content: String(state.error ?? state.output ?? "").slice(0, RESULT_CHARS_MAX),
      exit_code: state.metadata?.exit,
      is_error: state.status === "error",
      timestamp: at,
    }))
  return [calls.length ? { ...message, tool_calls: calls } : message, ...results]
}

export const Memd = async ({ client, directory }) => {
  // How each session continues with its next prompt: "compact", or undefined. A session that this
  // process has not seen yet is sent as "resume"; the hook knows whether it has its brief.
  const begun = new Map()
  const parents = new Map()
  // The last message of each session that memd has, and the sessions that work on a prompt.
  const stored = new Map()
  const working = new Set()
  let windows

  // The session of a sub-agent has a parent, and is not a person's.
  async function isOwn(id) {
    if (!parents.has(id)) {
      const answer = await client.session.get({ path: { id } }).catch(() => undefined)
      parents.set(id, answer?.data?.parentID)
    }
    return !parents.get(id)
  }

  async function messages(id) {
    const answer = await client.session.messages({ path: { id } }).catch(() => undefined)
    return answer?.data ?? []
  }

  async function windowOf(info) {
    if (windows === undefined) {
      const answer = await client.config.providers().catch(() => undefined)
      windows = new Map()
      for (const provider of answer?.data?.providers ?? [])
        for (const [name, model] of Object.entries(provider.models ?? {}))
          windows.set(`${provider.id}/${name}`, model.limit?.context)
    }
    return windows.get(`${info.providerID}/${info.modelID}`)
  }

  const of = (session_id) => ({ session_id, cwd: directory })

  // Runs a hook with the newest messages that memd does not have.
  async function send(event, id, all, payload) {
    const from = all.findIndex((message) => message.info.id === stored.get(id)) + 1
    const newest = all.slice(from).slice(-MESSAGES_MAX).flatMap(toMessages)
    const answer = await hook(event, { ...of(id), ...payload, messages: newest })
    if (answer.stored) stored.set(id, all.at(-1).info.id)
  }

  async function idle(id) {
    working.delete(id)
    const all = await messages(id)
    const last = all.filter((message) => message.info.role === "assistant").at(-1)
    if (!last) return
    const tokens = last.info.tokens ?? {}
    const used = (tokens.input ?? 0) + (tokens.cache?.read ?? 0) + (tokens.cache?.write ?? 0)
    // The answer to a prompt that came meanwhile is not complete.
    await send("session.idle", id, working.has(id) ? [] : all, {
      text: textOf(last.parts),
      message_id: last.info.id,
      model: last.info.modelID,
      used_tokens: used || undefined,
      window_tokens: await windowOf(last.info),
    })
  }

  return {
    "chat.message": async (input, output) => {
      const id = input.sessionID
      const prompt = promptOf(output.parts)
      working.add(id)
      if (!prompt.trim() || !(await isOwn(id))) return
      const begins = begun.has(id) ? begun.get(id) : "resume"
      begun.set(id, undefined)
      const message_id = output.message?.id ?? input.messageID
      const answer = await hook("chat.message", { ...of(id), prompt, message_id, begins })
      const text = answer.additionalContext
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
      await send("experimental.session.compacting", id, await messages(id), {})
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
