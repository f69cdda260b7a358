"""The closed world of the food-delivery app: who cooks, who rides, where to, and what is in the bag."""

from __future__ import annotations

COURIERS = (
    "Amina", "Anton", "Bea", "Boris", "Carla", "Chidi", "Dana", "Diego", "Elif", "Emil", "Farah", "Felix", "Greta",
    "Hana", "Hugo", "Ines", "Ivan", "Jonas", "Julia", "Karim", "Lena", "Leo", "Lucia", "Malik", "Marta", "Mei",
    "Nadia", "Nils", "Nora", "Omar", "Oscar", "Petra", "Priya", "Rosa", "Ruben", "Samir", "Sofia", "Tara", "Tom",
    "Yuki",
)

STREETS = (
    "Apple Road", "Baker Street", "Bridge Street", "Canal Street", "Castle Road", "Cedar Lane", "Church Street",
    "Elm Street", "Garden Road", "Green Lane", "Harbour Road", "Hill Street", "Lake Road", "Lime Lane", "Market Street",
    "Mill Street", "Museum Road", "North Street", "Oak Lane", "Park Road", "River Street", "School Lane",
    "Station Road", "Tower Street",
)

PROMOS = ("APRIL", "BIKE", "FRIEND", "LUNCH", "NIGHT", "RAIN", "SPRING", "SUNDAY", "TASTY", "WELCOME")

ALLERGENS = ("egg", "fish", "milk", "nuts", "sesame", "shellfish", "soy", "wheat")

#: restaurant -> its dishes, each with least price, most price and what it usually contains
MENUS: dict[str, tuple[tuple[str, int, int, tuple[str, ...]], ...]] = {
    "Luna Pizza": (
        ("Margherita", 8, 12, ("milk", "wheat")), ("Funghi", 9, 14, ("milk", "wheat")), ("Marinara", 7, 11, ("wheat",)),
        ("Calzone", 10, 15, ("egg", "milk", "wheat")), ("Tiramisu", 4, 7, ("egg", "milk")), ("Lemonade", 2, 4, ()),
    ),
    "Green Bowl": (
        ("Falafel Bowl", 9, 13, ("sesame",)), ("Quinoa Salad", 8, 12, ("nuts",)), ("Hummus", 4, 7, ("sesame",)),
        ("Lentil Soup", 5, 8, ()), ("Mango Juice", 3, 5, ()), ("Carrot Cake", 4, 6, ("egg", "nuts", "wheat")),
    ),
    "Tokyo Corner": (
        ("Miso Soup", 3, 6, ("soy",)), ("Salmon Roll", 8, 14, ("fish", "soy")), ("Veggie Roll", 6, 10, ("sesame",)),
        ("Ramen", 11, 16, ("egg", "soy", "wheat")), ("Gyoza", 6, 9, ("soy", "wheat")), ("Green Tea", 2, 4, ()),
    ),
    "Spice House": (
        ("Butter Chicken", 11, 16, ("milk",)), ("Dal", 7, 11, ()), ("Naan", 2, 4, ("milk", "wheat")),
        ("Biryani", 10, 15, ("nuts",)), ("Samosa", 3, 6, ("wheat",)), ("Mango Lassi", 3, 5, ("milk",)),
    ),
    "Burger Barn": (
        ("Classic Burger", 9, 13, ("egg", "wheat")), ("Veggie Burger", 9, 13, ("soy", "wheat")), ("Fries", 3, 5, ()),
        ("Onion Rings", 4, 6, ("wheat",)), ("Milk Shake", 4, 7, ("milk",)), ("Cola", 2, 4, ()),
    ),
    "Siam Kitchen": (
        ("Pad Thai", 10, 14, ("egg", "fish", "nuts")), ("Green Curry", 10, 15, ("shellfish",)),
        ("Spring Rolls", 5, 8, ("wheat",)),
        ("Tom Yum", 7, 11, ("fish", "shellfish")), ("Jasmine Rice", 2, 4, ()), ("Iced Tea", 2, 4, ()),
    ),
    "Casa Taco": (
        ("Beef Taco", 4, 7, ()), ("Fish Taco", 5, 8, ("fish",)), ("Burrito", 8, 12, ("milk", "wheat")),
        ("Nachos", 6, 9, ("milk",)), ("Guacamole", 3, 6, ()), ("Churros", 4, 6, ("egg", "wheat")),
    ),
    "Olive Terrace": (
        ("Greek Salad", 7, 11, ("milk",)), ("Gyros", 8, 12, ("wheat",)), ("Moussaka", 10, 14, ("egg", "milk")),
        ("Pita", 2, 4, ("wheat",)), ("Baklava", 4, 6, ("nuts", "wheat")), ("Orange Juice", 3, 5, ()),
    ),
}

DISHES = tuple(sorted(dish for menu in MENUS.values() for dish, *_ in menu))
