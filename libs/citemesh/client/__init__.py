"""How other programs ask citemesh: a blocking client and an asyncio client with deadlines, retries and streaming.

from citemesh.client import Client

with Client("localhost:8470", token="...") as client:
    print(client.ask("How many days of leave are there?").answer.text)
"""

from citemesh.client.asynchronous import AsyncAnswerStream, AsyncClient
from citemesh.client.blocking import AnswerStream, Client
from citemesh.client.errors import CitemeshError
from citemesh.client.requests import Access

__all__ = ["Access", "AnswerStream", "AsyncAnswerStream", "AsyncClient", "CitemeshError", "Client"]
