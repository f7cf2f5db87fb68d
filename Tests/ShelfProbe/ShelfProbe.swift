import MapStoreClient

@main
struct ShelfProbe {
  static func main() async {}
}
