/** The same lines that the service prints at start. */
export function sandboxLines(base: string): string[] {
  return [
    `url=${base} json='content-type: application/json'`,
    `token=$(curl -s $url/v4/agents/register -H "$json" -d '{"name":"first try"}' | grep -o 'sp_agent_[0-9A-Za-z]*')`,
    `grant=$(curl -s -X POST $url/v4/sandbox/start -H "authorization: Bearer $token" | grep -o -m1 'grt_[0-9a-z]*' | head -1)`,
    `curl -s $url/v4/proxy -H "authorization: Bearer $token" -H "$json" -d '{"grant_id":"'$grant'","method":"GET","url":"'$url'/v4/sandbox/echo"}'`,
  ]
}
