"""scrapy crawl pages -a site=http://127.0.0.1:8000 -a pages=20"""

import scrapy


class Pages(scrapy.Spider):
    name = "pages"

    def start_requests(self):
        for n in range(int(self.pages)):
            yield scrapy.Request(f"{self.site}/{n}")

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
