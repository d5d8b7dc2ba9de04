"""Responses that clients come back to."""

from __future__ import annotations

import httpx
import openai
import pytest
from openai.types.responses import ResponseItem
from pydantic import TypeAdapter

from toolglot.server.responses.store import ResponseStore, StoredItem, StoredResponse

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
ITEM = TypeAdapter(ResponseItem)


class TestServer:
    def test_a_response_can_be_fetched_as_it_was(self, api, tool):
        api.engine.say(f"<think>\nHm\n</think>\n\nOne moment. {CALL}")
        whole = api.create(tools=[tool], metadata={"run": "7"})
        assert api.http.get(f"/v1/responses/{whole['id']}").json() == whole
        streamed = api.events(tools=[tool])[-1]["response"]
        assert api.http.get(f"/v1/responses/{streamed['id']}").json() == streamed
        assert api.client.responses.retrieve(whole["id"]).output_text == "One moment."

    def test_an_incomplete_response_is_kept_too(self, api):
        api.engine.say("one two three")
        cut = api.create(max_output_tokens=7)
        api.create(previous_response_id=cut["id"], input="Go on.")
        assert "<|im_start|>assistant\none two<|im_end|>\n<|im_start|>user\nGo on." in api.engine.prompt

    def test_a_deleted_response_is_gone(self, api):
        api.engine.say("ok")
        first = api.create()["id"]
        second = api.create(previous_response_id=first, input="More")["id"]
        answer = api.http.delete(f"/v1/responses/{first}")
        assert answer.json() == {"id": first, "object": "response", "deleted": True}
        assert api.http.get(f"/v1/responses/{first}").status_code == 404
        with pytest.raises(openai.NotFoundError):
            api.client.responses.delete(first)
        error = api.error(400, previous_response_id=first)
        assert (error["param"], error["code"]) == ("previous_response_id", "previous_response_not_found")
        api.create(previous_response_id=second, input="Still there?")
        assert api.engine.prompt.count("\nHi<") == api.engine.prompt.count("\nMore<") == 1

    def test_what_is_not_to_be_stored_is_not(self, api):
        api.engine.say("ok")
        response = api.create(store=False)
        assert response["store"] is False
        assert api.http.get(f"/v1/responses/{response['id']}").status_code == 404

    def test_what_is_not_to_be_stored_can_still_go_on_from_what_is(self, api):
        api.engine.say("ok")
        first = api.create(input="First")["id"]
        api.create(previous_response_id=first, store=False)
        assert "First" in api.engine.prompt

    def test_only_the_most_recent_ones_are_kept(self, api_with):
        api = api_with(max_stored_responses=2)
        api.engine.say("ok")
        ids = [api.create()["id"] for _ in range(3)]
        statuses = [api.http.get(f"/v1/responses/{made}").status_code for made in ids]
        assert statuses == [404, 200, 200]

    def test_a_server_may_store_nothing(self, api_with):
        api = api_with(max_stored_responses=0)
        api.engine.say("ok")
        response = api.create(store=True)
        assert response["store"] is False
        assert api.http.get(f"/v1/responses/{response['id']}").status_code == 404

    def test_nothing_but_a_response_in_the_background_could_be_cancelled(self, api):
        api.engine.say("ok")
        made = api.create()["id"]
        with pytest.raises(openai.BadRequestError, match="ended"):
            api.client.responses.cancel(made)
        with pytest.raises(openai.NotFoundError):
            api.client.responses.cancel("resp_none")

    def test_a_client_that_leaves_cancels_and_stores_nothing(self, api):
        api.engine.say("x" * 400, delay=0.01)
        body = {"model": "scripted", "input": "Hi", "stream": True}
        with api.http.stream("POST", "/v1/responses", json=body) as answer:
            made = next(line for line in answer.iter_lines() if line.startswith("data: "))
        api.served.wait_idle()
        assert api.engine.yielded < 400
        response_id = httpx.Response(200, content=made.removeprefix("data: ")).json()["response"]["id"]
        assert api.http.get(f"/v1/responses/{response_id}").status_code == 404

    def test_a_stored_response_is_not_streamed(self, api):
        api.engine.say("ok")
        made = api.create()["id"]
        assert api.http.get(f"/v1/responses/{made}?stream=true").json()["error"]["param"] == "stream"

    def test_every_route_asks_for_the_key(self, api_with):
        api = api_with(api_keys=("secret",))
        api.engine.say("ok")
        made = api.create()["id"]
        with httpx.Client(base_url=api.served.url) as stranger:
            for method, path in [
                ("POST", "/v1/responses"),
                ("GET", f"/v1/responses/{made}"),
                ("DELETE", f"/v1/responses/{made}"),
                ("POST", f"/v1/responses/{made}/cancel"),
                ("GET", f"/v1/responses/{made}/input_items"),
            ]:
                assert stranger.request(method, path).status_code == 401


class TestInputItems:
    def made(self, api, tool):
        api.engine.say(f"<think>\nHm\n</think>\n\nOne moment. {CALL}")
        asked = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Weather?"}]
        first = api.create(input=asked, tools=[tool])
        result = {"type": "function_call_output", "call_id": first["output"][-1]["call_id"], "output": "rain"}
        return api.create(input=[result], previous_response_id=first["id"], tools=[tool])["id"]

    def test_they_are_all_that_the_response_was_made_of(self, api, tool):
        path = f"/v1/responses/{self.made(api, tool)}/input_items"
        page = api.http.get(path, params={"order": "asc"}).json()
        kinds = ["message", "message", "reasoning", "message", "function_call", "function_call_output"]
        assert [item["type"] for item in page["data"]] == kinds
        for item in page["data"]:
            ITEM.validate_python(item)
        assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"], page["data"][-1]["id"])
        assert page["has_more"] is False
        assert api.http.get(path).json()["data"] == page["data"][::-1]

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_the_official_client_pages_through_them(self, api, tool, order):
        items = api.client.responses.input_items.list(self.made(api, tool), limit=2, order=order)
        kinds = [item.type for item in items]
        assert len(kinds) == 6
        assert kinds[0] == {"asc": "message", "desc": "function_call_output"}[order]

    @pytest.mark.parametrize(
        ("query", "param"),
        [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=x", "limit"),
            ("order=up", "order"),
            ("after=x", "after"),
        ],
    )
    def test_a_page_that_is_none_is_refused(self, api, tool, query, param):
        answer = api.http.get(f"/v1/responses/{self.made(api, tool)}/input_items?{query}")
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)

    def test_any_of_them_can_be_referred_to(self, api, tool):
        made = self.made(api, tool)
        items = list(api.client.responses.input_items.list(made, order="asc"))
        references = [{"type": "item_reference", "id": item.id} for item in items]
        api.create(input=references, tools=[tool])
        for part in ("Be brief.", "Weather?", "One moment.", "<|im_start|>tool\nrain"):
            assert api.engine.prompt.count(part) == 1

    def test_an_id_that_a_client_made_up_refers_to_nothing(self, api):
        api.engine.say("ok")
        api.create(input=[{"type": "message", "id": "msg_mine", "role": "user", "content": "secret"}])
        assert api.error(400, input=[{"id": "msg_mine"}])["param"] == "input[0].id"

    def test_a_response_without_input_has_none(self, api):
        api.engine.say("ok")
        first = api.create()["id"]
        second = api.create(input=[], previous_response_id=first)["id"]
        assert len(api.http.get(f"/v1/responses/{second}/input_items").json()["data"]) == 2


def response(name: str, *, input_: tuple[StoredItem, ...] = (), said: int = 100) -> StoredResponse:
    return StoredResponse(name, b"x" * 1000, input_, (StoredItem(f"msg_{name}", b"y" * said),))


class TestStore:
    def test_it_is_empty_again_when_all_are_removed(self):
        store = ResponseStore(10, 10**6)
        first = response("a")
        second = response("b", input_=first.items)
        store.add(first)
        alone = store.size
        store.add(second)
        assert alone < store.size < 2 * alone + 100  # what both have is counted once
        assert store.remove("a")
        assert not store.remove("a")
        assert store.item("msg_a") == b"y" * 100
        assert store.remove("b")
        assert (store.size, len(store), store.item("msg_a"), store.item("msg_b")) == (0, 0, None, None)

    def test_the_least_recently_used_one_makes_room(self):
        store = ResponseStore(2, 10**6)
        for name in "ab":
            store.add(response(name))
        store.get("a")
        store.add(response("c"))
        assert [store.get(name) is not None for name in "abc"] == [True, False, True]

    def test_it_never_holds_more_bytes_than_it_may(self):
        store = ResponseStore(1000, 20_000)
        for number in range(100):
            store.add(response(str(number), said=number * 50))
            assert store.size <= 20_000
        assert 1 < len(store) < 20
        assert store.get("99") is not None

    def test_a_conversation_is_kept_whole_though_its_beginning_is_gone(self):
        store = ResponseStore(3, 10**6)
        items: tuple[StoredItem, ...] = ()
        for number in range(10):
            one = response(str(number), input_=items)
            store.add(one)
            items = one.items
        assert [item.id for item in store.get("9").items] == [f"msg_{number}" for number in range(10)]
        assert store.get("0") is None
        assert store.item("msg_0") is not None

    def test_one_that_is_too_large_drives_none_out(self):
        store = ResponseStore(10, 20_000)
        store.add(response("a"))
        store.add(response("b", said=20_000))
        assert store.get("a") is not None
        assert store.get("b") is None

    def test_one_item_may_be_there_twice(self):
        store = ResponseStore(10, 10**6)
        item = StoredItem("msg_1", b"y")
        store.add(StoredResponse("a", b"x", (item, item), ()))
        assert store.remove("a")
        assert store.size == 0
